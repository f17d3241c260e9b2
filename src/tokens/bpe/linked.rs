//! Merges up to some dozens of parts, one pair at a time, as a linked list.

use super::vocabulary::{NO_TOKEN, Vocabulary};

/// Number of bits of a key below the rank: the position of a part.
const PLACE_BITS: u32 = 7;
/// Makes a key a normal float, whose exponent is not 0.
const NORMAL: u32 = 1 << 23;
/// The key of parts that do not merge.
const NONE: f32 = f32::INFINITY;
/// Number of keys that are compared at once.
const LANES: usize = 8;

/// Returns the key of a part: the rank of the token that it and the next part merge to, above its position. The
/// smallest key is the leftmost of the lowest rank. It is a float, because every processor finds the minimum of several
/// floats in one instruction, and the oldest x86-64 do not for integers. That halves the time on random letters.
#[expect(clippy::cast_possible_truncation, reason = "a place is below 128")]
#[inline]
fn key(merged: u32, place: usize) -> f32 {
    if merged == NO_TOKEN { NONE } else { f32::from_bits(NORMAL + (merged << PLACE_BITS | place as u32)) }
}

#[inline]
fn lower(one: f32, other: f32) -> f32 {
    // `f32::min` would check for NaN too.
    if one < other { one } else { other }
}

/// Merges the first `parts` of `tokens`. `merged` has the token that each part and the next one merge to. Returns the
/// number of remaining tokens, which are the first ones.
#[expect(clippy::cast_possible_truncation, reason = "a place is below 128")]
pub(super) fn merge<const N: usize>(
    vocabulary: &Vocabulary,
    tokens: &mut [u32; N],
    merged: &[u32; N],
    parts: usize,
) -> usize {
    const { assert!(N <= 1 << PLACE_BITS && N.is_multiple_of(LANES)) };
    let mut keys = [NONE; N];
    let mut next = [0_u8; N];
    let mut previous = [0_u8; N];
    for place in 0..N {
        next[place] = place as u8 + 1;
        previous[place] = (place as u8).saturating_sub(1);
    }
    for (place, key_of) in keys[..parts - 1].iter_mut().enumerate() {
        *key_of = key(merged[place], place);
    }

    while let Some((token, left)) = lowest(&keys[..parts.next_multiple_of(LANES)]) {
        let right = usize::from(next[left]);
        let after = usize::from(next[right]);
        next[left] = after as u8;
        tokens[left] = token;
        keys[right] = NONE;
        keys[left] = NONE;
        if after < parts {
            previous[after] = left as u8;
            keys[left] = key(vocabulary.merged(token, tokens[after]), left);
        }
        if left > 0 {
            let before = usize::from(previous[left]);
            keys[before] = key(vocabulary.merged(tokens[before], token), before);
        }
    }

    let mut count = 0;
    let mut at = 0;
    while at < parts {
        tokens[count] = tokens[at];
        count += 1;
        at = usize::from(next[at]);
    }
    count
}

/// Returns the token and the position of the lowest key.
#[inline]
fn lowest(keys: &[f32]) -> Option<(u32, usize)> {
    let (eights, _) = keys.as_chunks::<LANES>();
    let mut lowest = [NONE; LANES];
    for eight in eights {
        for (lowest, &key) in lowest.iter_mut().zip(eight) {
            *lowest = lower(key, *lowest);
        }
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lowest[lane] = lower(lowest[lane], lowest[lane + width]);
        }
        width /= 2;
    }
    if lowest[0] == NONE {
        return None;
    }
    let bits = lowest[0].to_bits() - NORMAL;
    Some((bits >> PLACE_BITS, (bits & ((1 << PLACE_BITS) - 1)) as usize))
}
