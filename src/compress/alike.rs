//! Groups similar lines and failures: those that differ only in numbers, ids and values.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// Without a budget, this many similar failures are kept and the others are counted. That is enough to see what their
/// values have in common.
pub(super) const MOST_ALIKE: usize = 20;

/// Counts failures by what they have in common.
#[derive(Debug, Default)]
pub(super) struct Alike {
    seen: HashMap<u64, usize, RandomState>,
}

impl Alike {
    /// True if this is one of the first failures of its shape. O(1).
    pub(super) fn is_example(&mut self, said: &str) -> bool {
        /// Bytes that are compared. A failure is named at the beginning.
        const FRONT: usize = 400;
        let times = self.seen.entry(shape(&said.as_bytes()[..said.len().min(FRONT)])).or_default();
        *times += 1;
        *times <= MOST_ALIKE
    }
}

/// Returns a hash of the line without its numbers, ids and values. If two shapes collide, an example is lost, but the
/// failures are still counted.
pub(super) fn shape(line: &[u8]) -> u64 {
    let (mut shape, mut word, mut holds_digit, mut is_value) = (0, 0, false, false);
    for byte in line {
        if byte.is_ascii_alphanumeric() {
            holds_digit |= byte.is_ascii_digit();
            word = mix(word, *byte);
            continue;
        }
        // A word with a digit is a number, a time or an id. A value such as the one in `user=alice` says which one, not
        // what.
        shape = mix(if holds_digit || is_value { shape } else { shape ^ word }, *byte);
        is_value = match byte {
            b'=' => true,
            b' ' | b',' | b';' | b'&' | b')' | b']' | b'}' | b'\t' | b'\n' => false,
            _ => is_value,
        };
        (word, holds_digit) = (0, false);
    }
    if holds_digit || is_value { shape } else { shape ^ word }
}

/// One step of FNV-1a with a 64-bit prime. It is fast on a few bytes, and the hashes never leave the process.
fn mix(hash: u64, byte: u8) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    (hash ^ OFFSET ^ u64::from(byte)).wrapping_mul(PRIME)
}
