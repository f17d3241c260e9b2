//! Prose, shortened.

use crate::support::shrinking::shrink;
use ullage::compress::{Aim, ContentKind};

const WORDS: [&str; 12] =
    ["cask", "wine", "level", "space", "cooper", "stave", "hoop", "bung", "cellar", "barrel", "must", "lees"];

/// A document of `parts` parts, with code in it.
fn document(parts: usize) -> String {
    let word = |seed: usize| WORDS[seed % WORDS.len()];
    let sentence = |seed: usize| {
        let words: Vec<&str> = (0..14).map(|at| word(seed + at * (seed / 12 + 1) + at * at * (seed % 7))).collect();
        [&words.join(" "), ".\n"].concat()
    };
    let part = |part: usize| {
        let body: String = (0..6).map(|line| sentence(part * 6 + line)).collect();
        [
            &["# Part ", &part.to_string(), " of the ", word(part)].concat(),
            "\n\n",
            &body,
            "\n```python\nfill(cask)\n```\n\n",
        ]
        .concat()
    };
    (0..parts).map(part).collect()
}

#[test]
fn headings_of_a_document_come_first() {
    let text = document(12);
    let short = shrink("read_file", &text, Aim::Tokens(400)).unwrap();
    assert_eq!(short.kind, ContentKind::Text, "{}", short.text);
    for part in 0..12 {
        assert!(short.text.contains(&["# Part ", &part.to_string(), " of"].concat()), "{part}: {}", short.text);
    }
}

#[test]
fn a_long_line_is_cut_between_words() {
    let text = document(40).replace(['\n', '#', '`'], " ");
    let short = shrink("", &text, Aim::Tokens(200)).unwrap();
    for line in short.text.lines().filter(|line| !line.starts_with("[...")) {
        let (first, last) = (line.split(' ').next().unwrap(), line.split(' ').next_back().unwrap());
        assert!(text.contains(&[" ", first].concat()) && text.contains(&[last, " "].concat()), "{line}");
    }
}
