//! Source code and settings files: keeps declarations, and leaves out bodies by their lines.
//!
//! Read by indentation and the shape of lines, which holds in every language that people lay out, also in the middle of
//! a file. Where the tool has numbered the lines, the gaps name those numbers.

mod declaration;
mod imports;
mod settings;

use declaration::{Declaration, declaration};

use super::outline::{Outline, Rank};
use super::ranked::{RankedLines, Reports, indent};
use super::sample::Sample;

/// The least percentage of lines that look like code; lower if the tool reads files or numbers lines.
const CODE: usize = 60;
const CODE_OF_A_READER: usize = 40;

/// Lines of a type's body that are essential: its fields, unless they are declared by a word of their own.
const FIELDS: usize = 12;

/// Lines of a comment at the front of the file that are essential.
const FRONT: usize = 3;

/// A signature of more lines is cut.
const SIGNATURE: usize = 12;

/// True if most lines look like code and some line declares something, or most are settings.
pub(super) fn claims(sample: &Sample<'_>) -> bool {
    // Markdown with code in it is prose.
    if sample.any(|line| line.starts_with("```")) {
        return false;
    }
    let bare = |line: &str, is: fn(&str) -> bool| is(number(line).map_or(line, |(_, code)| code));
    let is_numbered = sample.share(|line| number(line).is_some()) >= 80;
    let is_reader = ["read", "cat", "view", "open", "file"].iter().any(|word| sample.tool.contains(word));
    let least = if is_numbered || is_reader { CODE_OF_A_READER } else { CODE };
    let declares =
        |line: &str| !matches!(declaration(line), None | Some(Declaration::Constant | Declaration::Attribute));
    sample.any(|line| bare(line, declares)) && sample.share(|line| bare(line, looks_like_code)) >= least
        || sample.share(|line| bare(line, settings::is_setting)) >= settings::SETTINGS
}

/// True if a line is indented, ends as statements end, or is a comment.
fn looks_like_code(line: &str) -> bool {
    let body = line.trim_end();
    body.ends_with(['{', '}', ';', '(', ')', ',', ':', '=', '>'])
        || line.starts_with([' ', '\t'])
        || is_comment(body)
        || declaration(line).is_some()
}

/// Reads a line number that a tool has put in front: `  12→`, `12\t`, `12: `, `12 | `.
fn number(line: &str) -> Option<(usize, &str)> {
    let line = line.trim_start_matches(' ');
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    // OK because no file has more lines; sums of such numbers cannot overflow.
    let (number, rest) = (line[..digits].parse::<u32>().ok()? as usize, &line[digits..]);
    let code = rest.strip_prefix(['\t', '→']).or_else(|| rest.strip_prefix(": ")).or_else(|| rest.strip_prefix(" | "));
    // At the end of an empty line, spaces are often taken away.
    code.or_else(|| matches!(rest, ":" | " |").then_some("")).map(|code| (number, code))
}

/// The number of the first line, if the lines are numbered one after the other.
fn first_number(code: &RankedLines<'_>) -> Option<usize> {
    let first = number(code.line(0))?.0;
    let follows = |index: usize| number(code.line(index)).is_none_or(|(number, _)| number == first + index);
    (code.len() > 1 && number(code.line(1)).is_some() && (1..code.len()).all(follows)).then_some(first)
}

/// The code as pieces. O(length).
pub(super) fn outline(text: &str) -> Option<Outline<'_>> {
    let mut code = RankedLines::of(text, Reports::ByForm);
    if code.len() == 0 {
        return None;
    }
    let first = first_number(&code);
    let lines: Vec<&str> = (0..code.len())
        .map(|index| match number(code.line(index)) {
            Some((_, bare)) if first.is_some() => bare,
            _ => code.line(index),
        })
        .collect();
    let set = lines.iter().filter(|line| settings::is_setting(line)).count();
    if set * 100 >= lines.iter().filter(|line| !line.trim().is_empty()).count() * settings::SETTINGS {
        settings::mark(&mut code, &lines);
    } else {
        mark(&mut code, &lines);
        imports::summarize(&mut code, &lines);
    }
    let mut outline = code.outline();
    outline.first_number = first.filter(|first| *first != 1);
    Some(outline)
}

/// A block of code and its context.
#[derive(Debug, Clone, Copy)]
struct Block {
    indent: usize,
    kind: Declaration,
    lines: usize,
}

fn mark(code: &mut RankedLines<'_>, lines: &[&str]) {
    let mut blocks: Vec<Block> = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let line = lines[index];
        let body = line.trim();
        // A label or a brace of its own opens or closes nothing here; what it belongs to is known by its indentation.
        if body.is_empty() || body == "{" || body.starts_with("#if") || body.starts_with("#e") {
            index += 1;
            continue;
        }
        let indent = indent(line);
        while blocks.last().is_some_and(|block| block.indent >= indent) {
            blocks.pop();
        }
        if blocks.iter().any(|block| block.kind == Declaration::Function) {
            index += 1;
            continue;
        }
        let Some(kind) = declaration(line) else {
            mark_other(code, lines, index, blocks.last_mut());
            index += 1;
            continue;
        };
        let end = end_of_signature(lines, index);
        let rank = match kind {
            Declaration::Import => Rank::Bulk,
            Declaration::Function | Declaration::Type if blocks.is_empty() => Rank::Key,
            _ => Rank::Sample,
        };
        // Only what declares a block has lines of it that matter.
        let shown = if matches!(kind, Declaration::Constant | Declaration::Attribute) { index + 1 } else { end };
        (index..shown).for_each(|index| code.set(index, rank));
        if matches!(kind, Declaration::Function | Declaration::Type) {
            blocks.push(Block { indent, kind, lines: 0 });
        }
        mark_doc(code, lines, end);
        index = end;
    }
}

/// A comment, a field, or a statement.
fn mark_other(code: &mut RankedLines<'_>, lines: &[&str], index: usize, block: Option<&mut Block>) {
    let line = lines[index];
    if is_comment(line.trim()) {
        let is_first = index == 0 || !is_comment(lines[index - 1].trim());
        if index < FRONT {
            code.set(index, Rank::Key);
        } else if is_first && declares_behind(lines, index) {
            code.set(index, Rank::Sample);
        }
    } else if let Some(block) = block.filter(|_| !line.trim().starts_with(['}', ')', ']'])) {
        block.lines += 1;
        if block.lines <= FIELDS {
            code.set(index, Rank::Sample);
        }
    }
}

/// True if something is declared after the comment, and not a comment only.
fn declares_behind(lines: &[&str], index: usize) -> bool {
    lines[index..]
        .iter()
        .take(SIGNATURE)
        .find(|line| !is_comment(line.trim()))
        .is_some_and(|line| declaration(line).is_some())
}

/// After the last line of a signature: where its brackets are closed.
fn end_of_signature(lines: &[&str], start: usize) -> usize {
    let mut open = 0_isize;
    for (index, line) in lines.iter().enumerate().skip(start).take(SIGNATURE) {
        open += line
            .bytes()
            .map(|byte| match byte {
                b'(' | b'[' => 1,
                b')' | b']' => -1,
                _ => 0,
            })
            .sum::<isize>();
        if open <= 0 {
            return index + 1;
        }
    }
    start + 1
}

/// The first line of a docstring under a signature.
fn mark_doc(code: &mut RankedLines<'_>, lines: &[&str], index: usize) {
    let Some(line) = lines.get(index).map(|line| line.trim()) else { return };
    if ["\"\"\"", "'''", "r\"\"\""].iter().any(|start| line.starts_with(start)) {
        code.set(index, Rank::Sample);
        // The text may begin in the line below.
        if line.len() <= "r\"\"\"".len() && index + 1 < lines.len() {
            code.set(index + 1, Rank::Sample);
        }
    }
}

fn is_comment(line: &str) -> bool {
    ["//", "/*", "*/", "* ", "# ", "#!", "-- ", "\"\"\"", ";;"].iter().any(|start| line.starts_with(start))
        || matches!(line, "*" | "#" | "--")
}
