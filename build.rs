//! Bakes what the exact counters read into files that the crate includes.
//!
//! - `o200k_base.merges`, `cl100k_base.merges`: for every ordinary token, in order of rank, the two that it is merged
//!   from, as [`MERGE_BYTES`] bytes.
//! - `o200k_base.crossings`, `cl100k_base.crossings`: which two characters a token may hold side by side, or parts of
//!   them, as a bit for each hash of the two.
//! - `o200k_base.alone`, `cl100k_base.alone`: how many tokens a character of three bytes is.
//! - `class_index.bin`, `class_blocks.bin`: the class of every code point, as a two-stage table.
//! - `class_bytes.bin`: the class of a character by its first byte.
//! - `docs/*`: the docstrings of the stub, which are those of the extension module too; a file for each name.

#![expect(clippy::disallowed_methods, reason = "a build script speaks to cargo on its output and leaves files")]

use std::collections::HashMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "src/tokens/bpe/crossing.rs"]
mod crossing;

use crossing::{CROSSING_BITS, Character, entering_bit, leaving_bit, whole_bit};
use regex_syntax::hir::{Class, HirKind};
use tiktoken_rs::CoreBPE;

/// Ordinary tokens of each published vocabulary; the ranks after them are special tokens.
const O200K_TOKENS: u32 = 199_998;
const CL100K_TOKENS: u32 = 100_256;

/// The same as in `src/tokens/bpe/vocabulary.rs`, which reads what is written here.
const LONGEST_TOKEN: usize = 128;
const MERGE_BYTES: usize = 5;
const RANK_BITS: u32 = 18;
/// Stands for the right part where a token is a single byte, which is then the left.
const NO_RIGHT: u64 = (1 << RANK_BITS) - 1;

/// Code points of characters of up to three bytes, and the first of three.
const UP_TO_THREE_BYTES: u32 = 1 << 16;
const THREE_BYTES: u32 = 0x800;

/// Code points in one block of the class table. Blocks of 256 keep both stages in the first cache level.
const BLOCK: usize = 256;
const CODE_POINTS: usize = 0x11_0000;

/// The class of a byte that begins a character beyond ASCII.
const BEYOND_ASCII: u8 = 0x80;

/// The stub of the extension module.
const STUB: &str = "python/ullage/_core.pyi";

/// The flags of each class, and the characters that have them. `src/tokens/bpe/class.rs` reads the same flags.
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
    println!("cargo:rerun-if-changed=src/tokens/bpe/crossing.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo did not set OUT_DIR")?);
    for (name, published, count) in [
        ("o200k_base", tiktoken_rs::o200k_base()?, O200K_TOKENS),
        ("cl100k_base", tiktoken_rs::cl100k_base()?, CL100K_TOKENS),
    ] {
        let tokens = tokens(&published, count)?;
        fs::write(out.join(format!("{name}.merges")), merges(&tokens)?)?;
        fs::write(out.join(format!("{name}.crossings")), crossings(&tokens))?;
        fs::write(out.join(format!("{name}.alone")), alone(&tokens)?)?;
    }
    if env::var_os("CARGO_FEATURE_PYTHON").is_some() {
        println!("cargo:rerun-if-changed={STUB}");
        write_docstrings(&fs::read_to_string(STUB)?, &out.join("docs"))?;
    }
    write_classes(&out)
}

/// Writes the docstring of each class and function of a stub, without its indentation, under its qualified name.
fn write_docstrings(stub: &str, folder: &Path) -> Result<(), Box<dyn Error>> {
    const QUOTES: &str = "\"\"\"";
    fs::create_dir_all(folder)?;
    // The classes and functions that the line is in, each with its indentation.
    let mut names: Vec<(usize, &str)> = Vec::new();
    let mut lines = stub.lines();
    while let Some(line) = lines.next() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        let header = ["class ", "def ", "async def "].iter().find_map(|word| text.strip_prefix(word));
        if let Some(header) = header {
            names.retain(|(outer, _)| *outer < indent);
            let name = header.split(|c: char| !c.is_alphanumeric() && c != '_').next();
            names.push((indent, name.unwrap_or_default()));
        } else if let (Some(opened), false) = (text.strip_prefix(QUOTES), names.is_empty()) {
            let mut doc = opened.to_owned();
            while !doc.ends_with(QUOTES) {
                let next = lines.next().ok_or_else(|| format!("{STUB}: a docstring does not end"))?;
                doc.push('\n');
                doc.push_str(next.get(indent..).unwrap_or_default());
            }
            let name = names.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(".");
            fs::write(folder.join(name), doc.trim_end_matches(QUOTES).trim_end())?;
        }
    }
    Ok(())
}

/// The tokens of the ranks `0..count`.
fn tokens(published: &CoreBPE, count: u32) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let missing = |rank| format!("the vocabulary has no token of rank {rank}");
    (0..count).map(|rank| published.decode_bytes(&[rank]).map_err(|_| missing(rank).into())).collect()
}

/// Returns the two parts that each token is merged from. Fails if the vocabulary breaks a rule that
/// `src/tokens/bpe/merge.rs` builds on: every token comes out of a merge of its own bytes, and of tokens of lower rank.
fn merges(tokens: &[Vec<u8>]) -> Result<Vec<u8>, Box<dyn Error>> {
    let ranks: HashMap<&[u8], u32> = tokens.iter().map(Vec::as_slice).zip(0..).collect();

    let mut table = Vec::new();
    for (token, rank) in tokens.iter().zip(0..) {
        if token.len() > LONGEST_TOKEN {
            return Err(format!("the token of rank {rank} has {} bytes", token.len()).into());
        }
        let entry = if let [byte] = token[..] {
            NO_RIGHT << RANK_BITS | u64::from(byte)
        } else {
            let (left, right) = last_merge(&ranks, token).ok_or(format!("nothing merges to rank {rank}"))?;
            if left >= rank || right >= rank {
                return Err(format!("rank {rank} is merged from a higher one").into());
            }
            u64::from(right) << RANK_BITS | u64::from(left)
        };
        table.extend_from_slice(&entry.to_le_bytes()[..MERGE_BYTES]);
    }
    Ok(table)
}

/// The two tokens that the merge of the bytes of `token` comes down to before the last step.
fn last_merge(ranks: &HashMap<&[u8], u32>, token: &[u8]) -> Option<(u32, u32)> {
    let starts = merged(ranks, token, 2);
    let (left, right) = token.split_at(*starts.get(1)?);
    Some((*ranks.get(left)?, *ranks.get(right)?))
}

/// Returns the starts of the parts that the bytes of `piece` merge to, stopping at `least` parts.
fn merged(ranks: &HashMap<&[u8], u32>, piece: &[u8], least: usize) -> Vec<usize> {
    let mut starts: Vec<usize> = (0..piece.len()).collect();
    while starts.len() > least {
        let end_of = |part: usize| starts.get(part).copied().unwrap_or(piece.len());
        let rank_at = |part: usize| ranks.get(&piece[starts[part]..end_of(part + 2)]);
        let lowest = (0..starts.len() - 1).filter_map(|part| Some((rank_at(part)?, part))).min();
        let Some((_, part)) = lowest else { break };
        starts.remove(part + 1);
    }
    starts
}

/// Every two neighbours in a token. Two of ASCII are everywhere, and nobody asks for them.
fn crossings(tokens: &[Vec<u8>]) -> Vec<u8> {
    let mut bits = vec![0_u8; CROSSING_BITS / 8];
    let mut set = |bit: usize| bits[bit / 8] |= 1 << (bit % 8);
    for token in tokens {
        let characters: Vec<&[u8]> = token.chunk_by(|_, &next| is_continuation(next)).collect();
        for (left, right) in characters.windows(2).map(|two| (two[0], two[1])) {
            let begins_inside = is_continuation(left[0]);
            let ends_inside = std::str::from_utf8(right).is_err();
            if left[0].is_ascii() && right[0].is_ascii() {
                continue;
            }
            let (left, _) = Character::at(left, if begins_inside { left.len() - 1 } else { 0 });
            for right in completions(right) {
                let (right, _) = Character::at(&right, 0);
                set(match (begins_inside, ends_inside) {
                    (true, _) => leaving_bit(left, right),
                    (false, true) => entering_bit(left, right),
                    (false, false) => whole_bit(left, right),
                });
            }
        }
    }
    bits
}

/// True if a byte of UTF-8 continues a character.
fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Every character that `beginning` begins or is.
fn completions(beginning: &[u8]) -> Vec<Vec<u8>> {
    let missing = (beginning[0].leading_ones() as usize).saturating_sub(beginning.len());
    (0..missing).fold(vec![beginning.to_vec()], |beginnings, _| {
        beginnings
            .iter()
            .flat_map(|beginning| (0x80..0xC0).map(|byte| [beginning.as_slice(), &[byte]].concat()))
            .collect()
    })
}

/// Returns the number of tokens of each three-byte character by itself, less one, in two bits.
fn alone(tokens: &[Vec<u8>]) -> Result<Vec<u8>, Box<dyn Error>> {
    let ranks: HashMap<&[u8], u32> = tokens.iter().map(Vec::as_slice).zip(0..).collect();
    let mut table = vec![0_u8; UP_TO_THREE_BYTES as usize / 4];
    for character in (THREE_BYTES..UP_TO_THREE_BYTES).filter_map(char::from_u32) {
        let parts = merged(&ranks, character.to_string().as_bytes(), 1);
        table[character as usize / 4] |= u8::try_from(parts.len() - 1)? << (character as usize % 4 * 2);
    }
    Ok(table)
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
