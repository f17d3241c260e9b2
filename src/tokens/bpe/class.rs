//! The class of a character, as the published patterns distinguish it.
//!
//! The build script makes the tables from those of the regex engine that the patterns were written for.

/// Set on `\p{Lu}`, `\p{Lt}`, `\p{Lm}`, `\p{Lo}` and `\p{M}`: characters that may be among the capitals of a word.
pub(super) const UPPER: u8 = 0x01;
/// Set on `\p{Ll}`, `\p{Lm}`, `\p{Lo}` and `\p{M}`: characters that may be among the small letters of a word.
pub(super) const LOWER: u8 = 0x02;
/// Set on `\p{L}`.
pub(super) const LETTER: u8 = 0x04;
/// Set on `\p{N}`.
pub(super) const NUMBER: u8 = 0x08;
/// Set on `\s`.
pub(super) const SPACE: u8 = 0x10;
/// Set on carriage return and line feed.
pub(super) const NEWLINE: u8 = 0x20;
/// Set on characters that are neither space nor letter nor number, including marks.
pub(super) const OTHER: u8 = 0x40;
/// Set in [`ASCII`] on a byte that begins a character outside ASCII.
pub(super) const BEYOND_ASCII: u8 = 0x80;

/// The class after the end of the text, without any flag.
const END: (u8, usize) = (0, 0);

/// The class of an ASCII character, by its byte; [`BEYOND_ASCII`] for every other byte.
pub(super) const ASCII: &[u8; 256] = include_bytes!(concat!(env!("OUT_DIR"), "/class_bytes.bin"));
/// The block of a code point, by its upper bits.
const INDEX: &[u8; 0x1100] = include_bytes!(concat!(env!("OUT_DIR"), "/class_index.bin"));
/// The classes of 256 code points, block after block.
const BLOCKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/class_blocks.bin"));

/// Returns the class and length in bytes of the character at `at`, which must begin a character or end the text.
#[inline]
pub(super) fn class_at(text: &[u8], at: usize) -> (u8, usize) {
    let Some(&first) = text.get(at) else {
        return END;
    };
    let class = ASCII[usize::from(first)];
    if class == BEYOND_ASCII { class_beyond_ascii(text, at) } else { (class, 1) }
}

/// Returns the end of the run of characters with any of `flags` that begins at `at`.
#[inline]
pub(super) fn run(text: &[u8], mut at: usize, flags: u8) -> usize {
    loop {
        // ASCII first, because most runs consist of nothing else.
        while let Some(&byte) = text.get(at)
            && ASCII[usize::from(byte)] & flags != 0
        {
            at += 1;
        }
        let (class, length) = class_at(text, at);
        if class & flags == 0 {
            return at;
        }
        at += length;
    }
}

/// Returns the same for a character that is known to be outside ASCII.
#[inline]
pub(super) fn class_beyond_ascii(text: &[u8], at: usize) -> (u8, usize) {
    // The text was a `str`, so the first byte gives the number of bytes.
    let first = usize::from(text[at]);
    let follower = |distance: usize| usize::from(text[at + distance] & 0x3F);
    let (code_point, length) = if first < 0xE0 {
        ((first & 0x1F) << 6 | follower(1), 2)
    } else if first < 0xF0 {
        ((first & 0x0F) << 12 | follower(1) << 6 | follower(2), 3)
    } else {
        let high = (first & 0x07) << 18 | follower(1) << 12;
        (high | follower(2) << 6 | follower(3), 4)
    };
    (class_of(code_point), length)
}

#[inline]
pub(super) const fn class_of(code_point: usize) -> u8 {
    let block = INDEX[code_point >> 8] as usize;
    BLOCKS[block << 8 | code_point & 0xFF]
}
