//! Writes the ordinary tokens of a published encoding to a file, in tiktoken's own format: a line for each token, its
//! bytes in base64 and its rank. Python tiktoken would download them; `benches/counting.py` must work without a network.
//!
//! `cargo run --release --example ranks -- o200k_base target/o200k_base.tiktoken`

use std::error::Error;
use std::io::{BufWriter, Write};
use std::{env, fs};

use ullage::tokens::Encoding;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn main() -> Result<(), Box<dyn Error>> {
    let [_, name, path] = &env::args().collect::<Vec<_>>()[..] else {
        return Err("give the name of an encoding and a path".into());
    };
    let encoding = Encoding::from_name(name).ok_or("there is no encoding of this name")?;
    // The special tokens come after these.
    let (published, tokens) = match encoding {
        Encoding::O200kBase => (tiktoken_rs::o200k_base()?, 199_998),
        Encoding::Cl100kBase => (tiktoken_rs::cl100k_base()?, 100_256),
    };
    let mut file = BufWriter::new(fs::File::create(path)?);
    for rank in 0..tokens {
        writeln!(file, "{} {rank}", base64(&published.decode_bytes(&[rank])?))?;
    }
    Ok(file.flush()?)
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, place| bits << 8 | u32::from(*three.get(place).unwrap_or(&0)));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= three.len() { digit.into() } else { '=' });
        }
    }
    text
}
