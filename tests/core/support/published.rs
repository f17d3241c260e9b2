//! The published encodings, computed by other means: tiktoken-rs for tokens, the published patterns for boundaries, and a
//! plain merge for pieces that tiktoken-rs cannot take.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use fancy_regex::Regex;
use tiktoken_rs::CoreBPE;
use ullage::tokens::{CountTokens, Encoding, Exact, TextKind};

const O200K_PATTERN: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);
const CL100K_PATTERN: &str = concat!(
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+",
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
);

pub fn oracle(encoding: Encoding) -> &'static CoreBPE {
    match encoding {
        Encoding::O200kBase => tiktoken_rs::o200k_base_singleton(),
        Encoding::Cl100kBase => tiktoken_rs::cl100k_base_singleton(),
    }
}

pub fn published_pieces(encoding: Encoding, text: &str) -> Vec<&str> {
    static O200K: LazyLock<Regex> = LazyLock::new(|| Regex::new(O200K_PATTERN).unwrap());
    static CL100K: LazyLock<Regex> = LazyLock::new(|| Regex::new(CL100K_PATTERN).unwrap());
    let pattern = match encoding {
        Encoding::O200kBase => &O200K,
        Encoding::Cl100kBase => &CL100K,
    };
    (pattern.find_iter(text)).map(|found| found.unwrap().as_str()).collect()
}

pub fn count(encoding: Encoding, text: &str) -> usize {
    Exact::new(encoding).count(text, TextKind::Prose)
}

/// Number of tokens in one piece, by the definition: merge the neighbours of the lowest rank, the leftmost of equals,
/// until none are left.
pub fn merged_by_the_book(encoding: Encoding, piece: &str) -> usize {
    let ranks = ranks(encoding);
    let bytes = piece.as_bytes();
    // For the part that begins at each byte: where it ends, and where the part before it begins.
    let mut ends: Vec<usize> = (1..=bytes.len()).collect();
    let mut before: Vec<Option<usize>> = (0..bytes.len()).map(|start| start.checked_sub(1)).collect();
    let ranked = |ends: &[usize], start: usize| {
        let end = *ends.get(ends[start])?;
        ranks.get(&bytes[start..end]).map(|&rank| (rank, start))
    };
    let mut pairs: BTreeSet<(u32, usize)> = (0..bytes.len()).filter_map(|start| ranked(&ends, start)).collect();
    let mut tokens = bytes.len();
    while let Some((_, start)) = pairs.pop_first() {
        let middle = ends[start];
        for pair in before[start].into_iter().chain([middle]).filter_map(|start| ranked(&ends, start)) {
            pairs.remove(&pair);
        }
        ends[start] = ends[middle];
        if let Some(after) = before.get_mut(ends[middle]) {
            *after = Some(start);
        }
        pairs.extend(before[start].into_iter().chain([start]).filter_map(|start| ranked(&ends, start)));
        tokens -= 1;
    }
    tokens
}

fn ranks(encoding: Encoding) -> &'static HashMap<Vec<u8>, u32> {
    static O200K: LazyLock<HashMap<Vec<u8>, u32>> = LazyLock::new(|| read_ranks(Encoding::O200kBase));
    static CL100K: LazyLock<HashMap<Vec<u8>, u32>> = LazyLock::new(|| read_ranks(Encoding::Cl100kBase));
    match encoding {
        Encoding::O200kBase => &O200K,
        Encoding::Cl100kBase => &CL100K,
    }
}

/// Ordinary tokens come first; the special ones after them are no part of a merge.
fn read_ranks(encoding: Encoding) -> HashMap<Vec<u8>, u32> {
    let tokens = match encoding {
        Encoding::O200kBase => 199_998,
        Encoding::Cl100kBase => 100_256,
    };
    (0..tokens).map(|rank| (oracle(encoding).decode_bytes(&[rank]).unwrap(), rank)).collect()
}

/// Boundaries, tokens of each piece and of the whole, the first time and again.
pub fn assert_exact(text: &str) {
    for encoding in Encoding::ALL {
        let name = encoding.name();
        let pieces: Vec<&str> = encoding.pieces(text).collect();
        assert_eq!(pieces, published_pieces(encoding, text), "{name}: {text:?}");
        assert_eq!(pieces.concat(), text, "{name}: {text:?}");
        let mut tokens = 0;
        for (piece, counted) in Exact::new(encoding).pieces(text) {
            assert_eq!(counted, merged_by_the_book(encoding, piece), "{name}, {piece:?} of {text:?}");
            tokens += counted;
        }
        assert_eq!(tokens, oracle(encoding).encode_ordinary(text).len(), "{name}: {text:?}");
        assert_eq!(count(encoding, text), tokens, "{name}: {text:?}");
        // The memo has it by now; the second answer must be the first.
        assert_eq!(count(encoding, text), tokens, "{name}, again: {text:?}");
    }
}
