//! Bakes what the exact counters read into files that the crate includes.
//!
//! - `o200k_base.merges`, `cl100k_base.merges`: for every ordinary token, in order of rank, the two that it is merged
//!   from, as [`MERGE_BYTES`] bytes.
//! - `o200k_base.crossings`, `cl100k_base.crossings`: where a token may begin or end inside a character, as a bit for each
//!   hash of the bytes around.
//! - `class_index.bin`, `class_blocks.bin`: the class of every code point, as a two-stage table.
//! - `class_bytes.bin`: the class of a character by its first byte.

#![expect(clippy::disallowed_methods, reason = "a build script speaks to cargo on its output and leaves files")]

use std::collections::HashMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "src/tokens/crossing.rs"]
mod crossing;

use crossing::{CROSSING_BITS, entering_bit, is_continuation, leaving_bit};
use regex_syntax::hir::{Class, HirKind};
use tiktoken_rs::CoreBPE;

/// Ordinary tokens of each published vocabulary; the ranks after them are special tokens.
const O200K_TOKENS: u32 = 199_998;
const CL100K_TOKENS: u32 = 100_256;

/// The same as in `src/tokens/vocabulary.rs`, which reads what is written here.
const LONGEST_TOKEN: usize = 128;
const MERGE_BYTES: usize = 5;
const RANK_BITS: u32 = 18;
/// Stands for the right part where a token is a single byte, which is then the left.
const NO_RIGHT: u64 = (1 << RANK_BITS) - 1;

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
    println!("cargo:rerun-if-changed=src/tokens/crossing.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo did not set OUT_DIR")?);
    for (name, published, count) in [
        ("o200k_base", tiktoken_rs::o200k_base()?, O200K_TOKENS),
        ("cl100k_base", tiktoken_rs::cl100k_base()?, CL100K_TOKENS),
    ] {
        let tokens = tokens(&published, count)?;
        fs::write(out.join(format!("{name}.merges")), merges(&tokens)?)?;
        fs::write(out.join(format!("{name}.crossings")), crossings(&tokens))?;
    }
    write_classes(&out)
}

/// The tokens of the ranks `0..count`.
fn tokens(published: &CoreBPE, count: u32) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let missing = |rank| format!("the vocabulary has no token of rank {rank}");
    (0..count).map(|rank| published.decode_bytes(&[rank]).map_err(|_| missing(rank).into())).collect()
}

/// What each token is merged from. Fails where the vocabulary is not what `src/tokens/merge.rs` builds on: every token
/// comes out of a merge of its own bytes, and of tokens of lower rank.
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
    // Where each part begins; the last entry is the end.
    let mut starts: Vec<usize> = (0..=token.len()).collect();
    while starts.len() > 3 {
        let rank_at = |part: usize| ranks.get(&token[starts[part]..starts[part + 2]]);
        let (_, part) = (0..starts.len() - 2).filter_map(|part| Some((rank_at(part)?, part))).min()?;
        starts.remove(part + 1);
    }
    let (left, right) = token.split_at(starts[1]);
    Some((*ranks.get(left)?, *ranks.get(right)?))
}

/// Every place where a token reaches into a character without reaching to its end, or out of one without beginning with
/// it.
fn crossings(tokens: &[Vec<u8>]) -> Vec<u8> {
    let mut bits = vec![0_u8; CROSSING_BITS / 8];
    let mut set = |bit: usize| bits[bit / 8] |= 1 << (bit % 8);
    for token in tokens.iter().filter(|token| token.len() > 1) {
        let begins = |&at: &usize| !is_continuation(token[at]);
        let (first, last) = ((1..token.len()).find(begins), (1..token.len()).rfind(begins));
        if let Some(at) = first
            && is_continuation(token[0])
        {
            let next = token.get(at + 1).map_or(0..=u8::MAX, |&byte| byte..=byte);
            for next in next {
                set(leaving_bit([token[at - 1], token[at], next]));
            }
        }
        if let Some(at) = last
            && std::str::from_utf8(&token[at..]).is_err()
        {
            let before = token[at - 1];
            let earlier = match at.checked_sub(2) {
                _ if !is_continuation(before) => 0..=0,
                Some(at) => token[at]..=token[at],
                None => 0..=u8::MAX,
            };
            for earlier in earlier {
                set(entering_bit([earlier, before, token[at]]));
            }
        }
    }
    bits
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
