//! Reading stored content back, a bounded piece at a time.

use ullage::error::Error;
use ullage::store::{Reference, Request, Storing, marked, marked_reference, retrieve};

fn reference() -> Reference {
    Reference::parse("bash-0123456789abcdef").unwrap()
}

fn read(content: &[u8], request: &Request<'_>) -> String {
    retrieve(&reference(), content, request).unwrap()
}

fn numbers() -> String {
    (1..=20).map(|line| format!("line {line}\n")).collect()
}

const ALL: Request<'static> = Request {
    pointer: None,
    pattern: None,
    lines: None,
    context: 0,
    head: None,
    tail: None,
    limit: 10_000,
    place: None,
};

#[test]
fn what_is_asked_for_comes_back() {
    let mark = "[ullage: retrieved from bash-0123456789abcdef, 20 lines in all";
    let line = |numbers: &[usize]| numbers.iter().map(|n| format!("{n}: line {n}\n")).collect::<String>();
    for (name, request, expected) in [
        ("all of it", ALL, format!("{mark}]\n{}", numbers())),
        ("lines", Request { lines: Some(2..=3), ..ALL }, format!("{mark}]\n{}", line(&[2, 3]))),
        ("the last lines", Request { lines: Some(19..=usize::MAX), ..ALL }, format!("{mark}]\n{}", line(&[19, 20]))),
        ("no such lines", Request { lines: Some(30..=40), ..ALL }, format!("{mark}]\n")),
        ("lines from zero", Request { lines: Some(0..=1), ..ALL }, format!("{mark}]\n{}", line(&[1]))),
        ("the wrong way round", Request { lines: Some(RANGE_BACK), ..ALL }, format!("{mark}]\n")),
        (
            "a pattern",
            Request { pattern: Some("7$"), ..ALL },
            format!("{mark}, 2 match the pattern]\n{}", line(&[7, 17])),
        ),
        (
            "a pattern and what is around it",
            Request { pattern: Some("^line 1$"), context: 1, ..ALL },
            format!("{mark}, 1 matches the pattern]\n{}", line(&[1, 2])),
        ),
        (
            "a pattern at the end",
            Request { pattern: Some("20"), context: usize::MAX, lines: Some(18..=20), ..ALL },
            format!("{mark}, 1 matches the pattern]\n{}", line(&[18, 19, 20])),
        ),
        ("no match", Request { pattern: Some("nothing"), ..ALL }, format!("{mark}, 0 match the pattern]\n")),
    ] {
        let text = read(numbers().as_bytes(), &request);
        assert_eq!(text, counted(&expected), "{name}");
        assert_eq!(marked_reference(&text), Some(reference()), "{name}");
        assert_eq!(
            marked(&text, Storing::On, &[]).map(|marked| marked.body),
            expected.split_once('\n').map(|(_, body)| body),
            "{name}"
        );
    }
}

/// The same with how much follows the mark.
fn counted(expected: &str) -> String {
    let (mark, body) = expected.split_once("]\n").unwrap();
    format!("{mark}; {} characters follow]\n{body}", ullage::numbers::thousands(body.trim().chars().count()))
}

const RANGE_BACK: std::ops::RangeInclusive<usize> = std::ops::RangeInclusive::new(5, 2);

#[test]
fn empty_content_and_bytes_that_are_no_text_are_read() {
    let mark = |lines: usize| format!("[ullage: retrieved from bash-0123456789abcdef, {lines} lines in all");
    assert_eq!(read(b"", &ALL), counted(&format!("{}]\n", mark(0))));
    assert_eq!(read(b"", &Request { limit: 0, ..ALL }), counted(&format!("{}]\n", mark(0))));
    assert_eq!(read(b"", &Request { lines: Some(1..=9), ..ALL }), counted(&format!("{}]\n", mark(0))));
    let pattern = Request { pattern: Some(".*"), context: 3, ..ALL };
    assert_eq!(read(b"", &pattern), counted(&format!("{}, 0 match the pattern]\n", mark(0))));
    assert_eq!(read(b"a\xff\xfeb\n\0", &ALL), counted(&format!("{}]\na\u{fffd}\u{fffd}b\n\0", mark(2))));
}

#[test]
fn no_more_comes_back_than_the_limit() {
    let long_line = "語".repeat(50_000);
    let empty_lines = "\n".repeat(200_000);
    let lines = "word\n".repeat(50_000);
    for (name, content) in [("a long line", &long_line), ("empty lines", &empty_lines), ("lines", &lines)] {
        for limit in [0, 1, 100, 5_000] {
            for request in [
                Request { limit, ..ALL },
                Request { limit, lines: Some(1..=usize::MAX), ..ALL },
                Request { limit, pattern: Some(""), ..ALL },
            ] {
                let text = read(content.as_bytes(), &request);
                let characters = text.chars().count();
                // The mark, the remark that there is more, and a number in front of each line.
                assert!(characters <= 3 * limit + 250, "{name}: {characters} characters for a limit of {limit}");
            }
        }
    }
}

#[test]
fn a_pattern_that_is_none_is_a_clear_error() {
    for pattern in ["(", "[", "a{2", "(?=a)", r"(a)\1", "*", r"\p{Nope}", "(?:a{1000}){1000}", &"(".repeat(10_000)] {
        let error = retrieve(&reference(), b"aaa", &Request { pattern: Some(pattern), ..ALL }).unwrap_err();
        assert!(matches!(error, Error::Store { .. }), "{error}");
    }
}

#[test]
fn a_hostile_pattern_stays_fast() {
    // Quadratic steps would take hours.
    let content = format!("{}!", "a".repeat(5_000_000));
    for pattern in ["(a+)+$", "(a|aa)+$", "(a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*)(.*)(.*)(.*)x"] {
        read(content.as_bytes(), &Request { pattern: Some(pattern), ..ALL });
    }
}

/// The model chooses the context; with the lines of every match filled anew this would take minutes.
#[test]
fn a_hostile_context_stays_fast() {
    let lines = 400_000;
    let request = Request { pattern: Some("x"), context: lines, ..ALL };
    let text = read("x\n".repeat(lines).as_bytes(), &request);
    assert!(text.contains("400,000 match"));
}
