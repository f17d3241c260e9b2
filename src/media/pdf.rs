//! Reads the number of pages that a PDF states (ISO 32000-1).
//!
//! The last lines of a PDF lead to the table of its objects, the table to the catalog, and the catalog to the root of
//! the page tree. The root states the number of pages. These are a few short reads, wherever the objects are. If the
//! table is compressed, a linearized file states the number at its beginning. Otherwise the number is estimated from
//! the length.

use super::content::Content;

/// A PDF is recognized by its first kilobyte, and names the place of its table in its last.
pub(super) const HEAD: usize = 1024;
/// Maximum length of a trailer and of a catalog, except for the parts of a catalog after its pages.
const DICTIONARY: usize = 2 * 1024;
/// Maximum length of the root. It may list every page before their number.
const ROOT: usize = 64 * 1024;
/// Maximum number of tables that are read. Each appended change adds a table, and in some broken files the tables form
/// a circle.
const MOST_TABLES: usize = 64;
/// Maximum number of sections that are read, of all tables together. Most tables have one or a few.
const MOST_SECTIONS: usize = 64;

/// Bytes of a table entry.
const ENTRY: usize = 20;

/// Bytes for each page if the table is compressed, as TeX and Ghostscript write it: about 8 KB for a page of text, and
/// 80 KB with figures. This value is in the middle, so it is wrong by the same factor for either.
const BYTES_A_PAGE: u64 = 25_000;
/// A larger stated number is wrong, or no provider accepts the file.
const MOST_STATED: u32 = 10_000;
/// Minimum bytes of a page. Its drawing is a separate stream, which compression of objects does not include. The
/// shortest is `9 0 obj<</Length 0>>stream endstream endobj`.
const LEAST_BYTES_A_PAGE: u64 = 40;
/// Maximum estimate: the number of pages that a provider accepts
/// (<https://docs.anthropic.com/en/docs/build-with-claude/pdf-support>). A larger file is large because of its
/// pictures.
const MOST_ESTIMATED: u32 = 100;

/// True if these are the first bytes of a PDF. Some tools write lines before its mark. A mark in the middle of a line
/// is in a text about PDF.
pub(super) fn is_pdf(head: &[u8]) -> bool {
    head.split(|byte| matches!(byte, b'\n' | b'\r')).any(|line| line.starts_with(b"%PDF-"))
}

/// Returns the pages of a PDF, stated or estimated.
pub(super) fn pages(content: &dyn Content, head: &[u8]) -> u32 {
    let of_length = |bytes_a_page| {
        let pages = (content.length() as u64).div_ceil(bytes_a_page);
        u32::try_from(pages).unwrap_or(u32::MAX)
    };
    let stated = stated_by_root(content).or_else(|| stated_at_start(head));
    match stated.filter(|pages| (1..=MOST_STATED).contains(pages)) {
        Some(pages) => pages.min(of_length(LEAST_BYTES_A_PAGE)),
        None => of_length(BYTES_A_PAGE).min(MOST_ESTIMATED),
    }
}

/// Reads the number from the beginning of a linearized file (Annex F).
fn stated_at_start(head: &[u8]) -> Option<u32> {
    number_behind(dictionary(&head[find(head, b"/Linearized")?..]), b"/N")
}

/// Reads the number from the root of the page tree (7.5.4, 7.5.5, 7.7.2 and 7.7.3).
fn stated_by_root(content: &dyn Content) -> Option<u32> {
    let last = content.some(content.length().saturating_sub(HEAD), HEAD);
    let mut at: usize = number_behind(&last[rfind(&last, b"startxref")?..], b"startxref")?;
    let mut objects = Objects { content, sections: Vec::new() };
    let mut catalog = None;
    for _ in 0..MOST_TABLES {
        let trailer = objects.add_table(at)?;
        catalog = catalog.or_else(|| number_behind(&trailer, b"/Root"));
        match number_behind(&trailer, b"/Prev") {
            Some(previous) => at = previous,
            None => break,
        }
    }
    let pages = number_behind(dictionary(&objects.object(catalog?, DICTIONARY)?), b"/Pages")?;
    number_behind(&objects.object(pages, ROOT)?, b"/Count")
}

/// The places of the objects, newest table first.
struct Objects<'a> {
    content: &'a dyn Content,
    /// The number of the first object, the number of objects, and the place of the first entry.
    sections: Vec<(usize, usize, usize)>,
}

impl Objects<'_> {
    /// Reads the sections of a table, and returns its trailer.
    fn add_table(&mut self, at: usize) -> Option<Vec<u8>> {
        /// Length of two numbers and the line breaks around them.
        const SECTION_HEAD: usize = 32;
        let mut at = at.checked_add(find(&self.content.some(at, SECTION_HEAD), b"xref")? + b"xref".len())?;
        while self.sections.len() < MOST_SECTIONS {
            let head = self.content.some(at, SECTION_HEAD);
            let Some((first, rest)) = number(&head) else { break };
            let (count, rest) = number(rest)?;
            let entries = at + head.len() - rest.trim_ascii_start().len();
            self.sections.push((first, count, entries));
            at = entries.checked_add(count.checked_mul(ENTRY)?)?;
        }
        let trailer = self.content.some(at, DICTIONARY);
        find(&trailer, b"trailer").map(|start| dictionary(&trailer[start..]).to_vec())
    }

    /// Returns the first bytes of an object, at most `most`.
    fn object(&self, which: usize, most: usize) -> Option<Vec<u8>> {
        let (first, _, entries) =
            self.sections.iter().find(|(first, count, _)| (*first..first.saturating_add(*count)).contains(&which))?;
        let entry = self.content.some(entries + (which - first) * ENTRY, ENTRY);
        let (at, _) = number(&entry)?;
        let mut bytes = self.content.some(at, most);
        bytes.truncate(find(&bytes, b"endobj").unwrap_or(bytes.len()));
        Some(bytes)
    }
}

/// Returns the bytes up to the end of the dictionary, or all of them.
fn dictionary(bytes: &[u8]) -> &[u8] {
    &bytes[..find(bytes, b"startxref").or_else(|| find(bytes, b"endobj")).unwrap_or(bytes.len())]
}

/// Returns the number after a name, or the number of the object that its value refers to.
fn number_behind<N: std::str::FromStr>(bytes: &[u8], name: &[u8]) -> Option<N> {
    let mut rest = bytes;
    loop {
        rest = &rest[find(rest, name)? + name.len()..];
        // A longer name may begin the same way.
        if let Some((number, _)) = number(rest) {
            return Some(number);
        }
    }
}

/// Reads the number at the beginning, after white space. Returns the rest too.
fn number<N: std::str::FromStr>(bytes: &[u8]) -> Option<(N, &[u8])> {
    let bytes = bytes.trim_ascii_start();
    let (digits, rest) = bytes.split_at(bytes.iter().take_while(|byte| byte.is_ascii_digit()).count());
    Some((std::str::from_utf8(digits).ok()?.parse().ok()?, rest))
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn rfind(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).rposition(|window| window == what)
}
