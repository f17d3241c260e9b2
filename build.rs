//! Bakes what the exact counters read into files that the crate includes.
//!
//! - `o200k_base.vocabulary`, `cl100k_base.vocabulary`: every ordinary token in order of rank, each as one byte of
//!   length and then its bytes.
//! - `class_index.bin`, `class_blocks.bin`: the class of every code point, as a two-stage table.
//! - `class_bytes.bin`: the class of a character by its first byte.

#![expect(clippy::disallowed_methods, reason = "a build script speaks to cargo on its output and leaves files")]

use std::collections::HashMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use regex_syntax::hir::{Class, HirKind};
use tiktoken_rs::CoreBPE;

/// Ordinary tokens of each published vocabulary; the ranks after them are special tokens.
const O200K_TOKENS: u32 = 199_998;
const CL100K_TOKENS: u32 = 100_256;

/// Code points in one block of the class table. Blocks of 256 keep both stages in the first cache level.
const BLOCK: usize = 256;
const CODE_POINTS: usize = 0x11_0000;

/// The class of a byte that begins a character beyond ASCII.
const BEYOND_ASCII: u8 = 0x80;

/// What a class is made of: flags, and the characters that carry them. `src/tokens/class.rs` reads the same flags.
const FLAGS: [(u8, &str); 7] = [
    (0x01, r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"),
    (0x02, r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"),
    (0x04, r"\p{L}"),
    (0x08, r"\p{N}"),
    (0x10, r"\s"),
    (0x20, r"[\r\n]"),
    (0x40, r"[^\s\p{L}\p{N}]"),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo did not set OUT_DIR")?);
    let o200k = vocabulary(&tiktoken_rs::o200k_base()?, O200K_TOKENS)?;
    fs::write(out.join("o200k_base.vocabulary"), o200k)?;
    let cl100k = vocabulary(&tiktoken_rs::cl100k_base()?, CL100K_TOKENS)?;
    fs::write(out.join("cl100k_base.vocabulary"), cl100k)?;
    write_classes(&out)
}

/// The tokens of ranks `0..tokens`, each as length and bytes. Fails if a rank is missing.
fn vocabulary(published: &CoreBPE, tokens: u32) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut blob = Vec::new();
    for rank in 0..tokens {
        let token =
            published.decode_bytes(&[rank]).map_err(|_| format!("the vocabulary has no token of rank {rank}"))?;
        let length = u8::try_from(token.len())?;
        if length == 0 {
            return Err(format!("the token of rank {rank} is empty").into());
        }
        blob.push(length);
        blob.extend(token);
    }
    Ok(blob)
}

fn write_classes(out: &Path) -> Result<(), Box<dyn Error>> {
    let mut classes = vec![0_u8; CODE_POINTS];
    for (flag, pattern) in FLAGS {
        for (first, last) in characters(pattern)? {
            for class in &mut classes[first as usize..=last as usize] {
                *class |= flag;
            }
        }
    }

    let mut index = Vec::new();
    let mut blocks = Vec::new();
    let mut seen: HashMap<&[u8], u8> = HashMap::new();
    for block in classes.chunks(BLOCK) {
        let next = u8::try_from(seen.len())?;
        let number = *seen.entry(block).or_insert_with(|| {
            blocks.extend_from_slice(block);
            next
        });
        index.push(number);
    }

    let mut bytes = vec![BEYOND_ASCII; 256];
    bytes[..128].copy_from_slice(&classes[..128]);

    fs::write(out.join("class_index.bin"), index)?;
    fs::write(out.join("class_blocks.bin"), blocks)?;
    fs::write(out.join("class_bytes.bin"), bytes)?;
    Ok(())
}

/// The ranges of characters that a pattern of one character matches.
fn characters(pattern: &str) -> Result<Vec<(char, char)>, Box<dyn Error>> {
    match regex_syntax::parse(pattern)?.into_kind() {
        HirKind::Class(Class::Unicode(class)) => Ok(class.iter().map(|range| (range.start(), range.end())).collect()),
        HirKind::Class(Class::Bytes(class)) => {
            Ok(class.iter().map(|range| (range.start().into(), range.end().into())).collect())
        }
        other => Err(format!("{pattern} is not a class but {other:?}").into()),
    }
}
