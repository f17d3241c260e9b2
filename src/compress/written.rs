//! Shortens text that a person or a model wrote. First, pasted content in it is shortened by content type, and the
//! words around it stay. If the words alone are too long, their middle is removed. Questions and instructions are
//! removed last.

use std::collections::HashSet;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::{Aim, Request, compress};
use crate::numbers::thousands;
use crate::tokens::{CountTokens, TextKind};

/// Fewer consecutive lines that are not prose belong to the prose around them.
const PASTED_LINES: usize = 4;

/// A longer line was pasted rather than typed.
const LONGEST_TYPED: usize = 1_500;

/// A longer piece of prose is split.
const LONGEST_PIECE: usize = 300;

/// Number of characters in a fence around a block.
const FENCE: usize = 3;

/// Maximum tokens of a gap line.
const GAP: usize = 12;

/// Words that begin an instruction, or occur in one.
const INSTRUCTS: [&str; 44] = [
    "add",
    "always",
    "answer",
    "avoid",
    "change",
    "check",
    "compare",
    "create",
    "delete",
    "do",
    "don't",
    "ensure",
    "explain",
    "find",
    "fix",
    "give",
    "how",
    "implement",
    "keep",
    "list",
    "look",
    "make",
    "must",
    "need",
    "never",
    "not",
    "only",
    "please",
    "read",
    "remove",
    "rename",
    "replace",
    "return",
    "run",
    "should",
    "show",
    "summarize",
    "tell",
    "test",
    "update",
    "use",
    "want",
    "why",
    "write",
];

/// A part of a text: typed or pasted.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    /// Text that the user wrote.
    Said(Range<usize>),
    /// Text that the user pasted.
    Pasted(Range<usize>),
}

/// Returns the parts of `text` that look pasted: fenced, quoted or tagged blocks, and lines of logs, code or tables.
/// O(length).
pub fn pasted(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    segments(text).into_iter().filter_map(|segment| match segment {
        Segment::Pasted(range) => Some(range),
        Segment::Said(_) => None,
    })
}

/// Shortens `text` to at most `keep` tokens: first pasted content, by content type, then the middle of the words around
/// it. `None` if it is short enough already, or does not become shorter. O(length).
pub fn condense(text: &str, keep: usize, counter: &dyn CountTokens) -> Option<String> {
    let count = |text: &str| counter.count(text, TextKind::Prose);
    if counter.fits(text, TextKind::Prose, keep) {
        return None;
    }
    let segments = segments(text);
    let said: usize = segments
        .iter()
        .map(|segment| if let Segment::Said(range) = segment { count(&text[range.clone()]) } else { 0 })
        .sum();
    let mut pasted: Vec<(usize, usize)> = segments
        .iter()
        .enumerate()
        .filter_map(|(index, segment)| match segment {
            Segment::Pasted(range) => Some((index, count(&text[range.clone()]))),
            Segment::Said(_) => None,
        })
        .collect();
    // Joined pieces may have more tokens than they have separately.
    let mut room = keep;
    loop {
        let left = room.saturating_sub(said);
        let short = if said < room && left >= GAP * pasted.len() {
            pasted.sort_unstable_by_key(|(index, tokens)| (*tokens, *index));
            with_pastes(text, &segments, &pasted, left, counter)
        } else {
            prose(text, &segments, room, counter)
        };
        let tokens = count(&short);
        if tokens <= keep && short.len() < text.len() {
            return Some(short);
        }
        if room == 0 {
            return None;
        }
        room = room.saturating_sub(tokens.saturating_sub(keep).max(1));
    }
}

/// Keeps all typed words, and as much pasted content as fits into `left` tokens. Each paste gets an equal share, and
/// what a small paste leaves is shared by the others.
fn with_pastes(
    text: &str,
    segments: &[Segment],
    pasted: &[(usize, usize)],
    left: usize,
    counter: &dyn CountTokens,
) -> String {
    let mut left = left;
    let mut short: Vec<Option<String>> = vec![None; segments.len()];
    for (at, (index, tokens)) in pasted.iter().enumerate() {
        let share = left / (pasted.len() - at);
        if *tokens <= share {
            left -= tokens;
            continue;
        }
        let Segment::Pasted(range) = &segments[*index] else { continue };
        let whole = &text[range.clone()];
        let body = compress(whole, &Request { kind: TextKind::Prose, ..Request::of("", Aim::Tokens(share)) }, counter)
            .map(|short| short.text)
            .filter(|short| counter.fits(short, TextKind::Prose, share));
        let body = body.unwrap_or_else(|| gap(whole));
        left = left.saturating_sub(counter.count(&body, TextKind::Prose));
        let ends = if whole.ends_with('\n') && !body.ends_with('\n') { "\n" } else { "" };
        short[*index] = Some(body + ends);
    }
    let pieces = segments.iter().zip(&short).map(|(segment, short)| match (segment, short) {
        (_, Some(short)) => short,
        (Segment::Said(range) | Segment::Pasted(range), None) => &text[range.clone()],
    });
    pieces.collect()
}

/// Removes all pasted content, and keeps the most important typed pieces that fit into `room` tokens.
fn prose(text: &str, segments: &[Segment], room: usize, counter: &dyn CountTokens) -> String {
    let mut pieces: Vec<(Range<usize>, bool)> = Vec::new();
    for segment in segments {
        match segment {
            Segment::Pasted(range) => pieces.push((range.clone(), false)),
            Segment::Said(range) => {
                pieces.extend(sentences(text, range.clone()).into_iter().map(|piece| (piece, true)));
            }
        }
    }
    let count = pieces.len();
    let last_question = pieces.iter().rposition(|(piece, said)| *said && asks(&text[piece.clone()]));
    let rank = |index: usize| {
        let from_end = index.min(count - 1 - index);
        let matters = match &text[pieces[index].0.clone()] {
            _ if Some(index) == last_question || from_end == 0 => 0,
            piece if instructs(piece) => 1,
            _ => 2,
        };
        (matters, from_end, index)
    };
    let mut order: Vec<usize> = (0..count).filter(|index| pieces[*index].1).collect();
    order.sort_unstable_by_key(|index| rank(*index));
    let mut kept = vec![false; count];
    let mut left = room.saturating_sub(GAP);
    for index in order {
        let tokens = counter.count(&text[pieces[index].0.clone()], TextKind::Prose);
        // A kept piece inside a gap splits it in two. One beside another kept piece does not. One between two closes
        // the gap.
        let ends = [index == 0 || kept[index - 1], index + 1 == count || kept[index + 1]];
        let (opened, closed) = match ends {
            [false, false] => (GAP, 0),
            [true, true] => (0, GAP),
            _ => (0, 0),
        };
        if tokens + opened <= left + closed {
            left = left + closed - tokens - opened;
            kept[index] = true;
        }
    }
    let mut short = String::new();
    let mut index = 0;
    while index < count {
        let run = (index..count).take_while(|at| kept[*at] == kept[index]).count();
        let whole = &text[pieces[index].0.start..pieces[index + run - 1].0.end];
        if kept[index] {
            short.push_str(whole);
        } else {
            let line = gap(whole);
            if whole.len() < line.len() {
                short.push_str(whole);
            } else {
                if !short.is_empty() && !short.ends_with('\n') {
                    short.push('\n');
                }
                short.push_str(&line);
                short.push('\n');
            }
        }
        index += run;
    }
    short
}

/// Returns the line in place of the omitted text.
fn gap(whole: &str) -> String {
    format!("[... {} characters left out ...]", thousands(whole.chars().count()))
}

fn asks(piece: &str) -> bool {
    piece.trim_end().ends_with('?')
}

/// True if a piece asks a question or gives an instruction.
fn instructs(piece: &str) -> bool {
    let words = || piece.split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|word| !word.is_empty());
    asks(piece) || words().take(LONGEST_PIECE).any(|word| INSTRUCTS.contains(&word.to_lowercase().as_str()))
}

/// Splits a piece of prose into sentences that cover it. None is longer than a few lines.
fn sentences(text: &str, of: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut start, mut characters, mut space) = (of.start, 0, None);
    let mut before = ' ';
    for (at, c) in text[of.clone()].char_indices() {
        let end = of.start + at + c.len_utf8();
        characters += 1;
        if c.is_whitespace() {
            space = Some(end);
        }
        let ends = c == '\n' || (c.is_whitespace() && matches!(before, '.' | '!' | '?' | '。'));
        let cut = match (ends, characters >= LONGEST_PIECE) {
            (true, _) => Some(end),
            (false, true) => Some(space.filter(|space| *space > start).unwrap_or(end)),
            (false, false) => None,
        };
        if let Some(cut) = cut {
            found.push(start..cut);
            (start, characters, space) = (cut, text[cut..end].chars().count(), None);
        }
        before = c;
    }
    if start < of.end {
        found.push(start..of.end);
    }
    found
}

/// Splits the text into consecutive typed and pasted segments.
fn segments(text: &str) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut push = |range: Range<usize>, pasted: bool| match segments.last_mut() {
        Some(Segment::Pasted(last)) if pasted => last.end = range.end,
        Some(Segment::Said(last)) if !pasted => last.end = range.end,
        _ if pasted => segments.push(Segment::Pasted(range)),
        _ => segments.push(Segment::Said(range)),
    };
    let lines = lines(text);
    // If the end of a block was not found once, it is not searched for again.
    let mut unclosed: HashSet<&str, RandomState> = HashSet::default();
    let mut index = 0;
    while index < lines.len() {
        let line = text[lines[index].clone()].trim();
        let is_end = |end: &usize| closes(line, text[lines[*end].clone()].trim());
        let end =
            if begins_block(line) && !unclosed.contains(line) { (index + 1..lines.len()).find(is_end) } else { None };
        let (end, is_pasted) = if let Some(end) = end {
            (end + 1, true)
        } else {
            unclosed.insert(line);
            let is_odd = |(at, line): &(usize, &str)| {
                !is_prose(line) && (*at == 0 || !begins_block(line.trim()) || unclosed.contains(line.trim()))
            };
            let odd = lines[index..].iter().map(|line| &text[line.clone()]).enumerate().take_while(is_odd).count();
            let long = lines[index..index + odd].iter().any(|line| line.len() > LONGEST_TYPED);
            (index + odd.max(1), odd >= PASTED_LINES || long)
        };
        push(lines[index].start..lines[end - 1].end, is_pasted);
        index = end;
    }
    segments
}

/// Returns the lines of a text, including line ends.
fn lines(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        at += line.len();
        at - line.len()..at
    });
    lines.collect()
}

/// True if a line is only a fence or a tag.
fn begins_block(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~") || tag(line).is_some()
}

/// True if a line ends the block that begins with the line `first`.
fn closes(first: &str, line: &str) -> bool {
    match tag(first) {
        Some(name) => line.strip_prefix("</").and_then(|rest| rest.strip_suffix('>')) == Some(name),
        None => line.len() >= FENCE && first.starts_with(line) && line.trim_matches(['`', '~']).is_empty(),
    }
}

/// Returns the tag's name if the line is only a tag.
fn tag(line: &str) -> Option<&str> {
    let name = line.strip_prefix('<')?.strip_suffix('>')?.split_whitespace().next()?;
    let is_name =
        name.starts_with(char::is_alphabetic) && name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    is_name.then_some(name)
}

/// True if a line looks like prose: words with few symbols between them. Empty lines count as prose.
fn is_prose(line: &str) -> bool {
    let line = line.trim_end();
    let bare = line.trim_start_matches(['-', '*', '#', ' ', '\u{2022}']);
    if line.is_empty() {
        return false;
    }
    let is_quoted = line.starts_with("    ") || line.starts_with(['\t', '>']);
    if is_quoted || line.len() > LONGEST_TYPED && sentences(line, 0..line.len()).len() < 2 {
        return false;
    }
    // Not every script puts spaces between words.
    let (mut letters, mut spaces, mut others) = (0_usize, 0_usize, 0_usize);
    for c in bare.bytes() {
        match c {
            b'a'..=b'z' | b'A'..=b'Z' => letters += 1,
            b' ' => spaces += 1,
            b'.' | b',' | b'\'' | b'"' | b'?' | b'!' | b'-' | 0x80.. => {}
            _ => others += 1,
        }
    }
    bare.starts_with(|c: char| c.is_alphabetic() || c == '"' || c == '`' || c == '\'')
        && (letters >= 3 * others || !bare.is_ascii())
        && letters < 12 * (spaces + 1)
}
