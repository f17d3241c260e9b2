//! Source code and settings files: keeps declarations, and names the lines of omitted bodies.
//!
//! Code is read by its indentation and the shape of its lines. That works in every language that people indent, and in
//! the middle of a file. If the tool printed line numbers, the gaps use those numbers.

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

/// Number of lines of a type's body that are essential: its fields, unless a keyword declares them.
const FIELDS: usize = 12;

/// Number of lines of a comment at the top of the file that are essential.
const FRONT: usize = 3;

/// A longer signature is cut to this many lines.
const SIGNATURE: usize = 12;

/// True if most lines look like code and one declares something, or if most lines are settings.
pub(super) fn claims(sample: &Sample<'_>) -> bool {
    // Markdown with code blocks is prose.
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

/// True if a line is indented, ends like a statement, or is a comment.
fn looks_like_code(line: &str) -> bool {
    let body = line.trim_end();
    body.ends_with(['{', '}', ';', '(', ')', ',', ':', '=', '>'])
        || line.starts_with([' ', '\t'])
        || is_comment(body)
        || declaration(line).is_some()
}

/// Parses a line number that a tool printed: `  12→`, `12\t`, `12: `, `12 | `.
fn number(line: &str) -> Option<(usize, &str)> {
    let line = line.trim_start_matches(' ');
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    // OK because no file has more lines, and sums of such numbers cannot overflow.
    let (number, rest) = (line[..digits].parse::<u32>().ok()? as usize, &line[digits..]);
    let code = rest.strip_prefix(['\t', '→']).or_else(|| rest.strip_prefix(": ")).or_else(|| rest.strip_prefix(" | "));
    // Tools often strip the trailing spaces of an empty line.
    code.or_else(|| matches!(rest, ":" | " |").then_some("")).map(|code| (number, code))
}

/// Returns the number of the first line, if the lines are numbered consecutively.
fn first_number(code: &RankedLines<'_>) -> Option<usize> {
    let first = number(code.line(0))?.0;
    let follows = |index: usize| number(code.line(index)).is_none_or(|(number, _)| number == first + index);
    (code.len() > 1 && number(code.line(1)).is_some() && (1..code.len()).all(follows)).then_some(first)
}

/// Splits the code into pieces. O(length).
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
        // A label or a brace on its own line opens and closes nothing here; indentation decides.
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
        // Only declarations of blocks have lines that matter inside.
        let shown = if matches!(kind, Declaration::Constant | Declaration::Attribute) { index + 1 } else { end };
        (index..shown).for_each(|index| code.set(index, rank));
        if matches!(kind, Declaration::Function | Declaration::Type) {
            blocks.push(Block { indent, kind, lines: 0 });
        }
        mark_doc(code, lines, end);
        index = end;
    }
}

/// Ranks a comment, a field or a statement.
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

/// True if a declaration follows the comment, and not only another comment.
fn declares_behind(lines: &[&str], index: usize) -> bool {
    lines[index..]
        .iter()
        .take(SIGNATURE)
        .find(|line| !is_comment(line.trim()))
        .is_some_and(|line| declaration(line).is_some())
}

/// Returns the line after a signature: the one after its closing bracket.
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

/// Ranks the first line of a docstring below a signature.
fn mark_doc(code: &mut RankedLines<'_>, lines: &[&str], index: usize) {
    let Some(line) = lines.get(index).map(|line| line.trim()) else { return };
    if ["\"\"\"", "'''", "r\"\"\""].iter().any(|start| line.starts_with(start)) {
        code.set(index, Rank::Sample);
        // The docstring's text may begin on the next line.
        if line.len() <= "r\"\"\"".len() && index + 1 < lines.len() {
            code.set(index + 1, Rank::Sample);
        }
    }
}

fn is_comment(line: &str) -> bool {
    ["//", "/*", "*/", "* ", "# ", "#!", "-- ", "\"\"\"", ";;"].iter().any(|start| line.starts_with(start))
        || matches!(line, "*" | "#" | "--")
}
