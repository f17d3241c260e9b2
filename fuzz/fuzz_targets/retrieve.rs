//! Any piece asked of any content: bounded, recognised as retrieved, and what a pointer leads to is what serde_json finds.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use ullage::error::Error;
use ullage::store::{
    MemoryStore, Reference, Request, Store, Storing, compiled, marked, marked_reference, retrieve, search,
};

/// Characters around a piece: the line in front, the notes of what is not shown, and the numbers of lines.
const AROUND: usize = 1_000;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    pointer: Option<&'a str>,
    pattern: Option<&'a str>,
    lines: Option<(usize, usize)>,
    context: usize,
    head: Option<usize>,
    tail: Option<usize>,
    limit: u16,
    content: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let Input { pointer, pattern, lines, context, head, tail, limit, content } = input;
    let reference = Reference::of("tool", content);
    let (lines, limit) = (lines.map(|(first, last)| first..=last), usize::from(limit));
    let request = Request { pointer, pattern, lines, context, head, tail, limit, place: None };
    match retrieve(&reference, content, &request) {
        Ok(piece) => {
            assert_eq!(marked_reference(&piece), Some(reference.clone()), "{piece:?}");
            assert!(marked(&piece, Storing::On, &[]).is_some(), "{piece:?}");
            assert!(piece.chars().count() <= limit + AROUND, "{limit}: {piece:?}");
        }
        Err(error) => assert!(matches!(error, Error::Store { .. }), "{error}"),
    }
    if let Some(pointer) = pointer {
        check_pointer(pointer, content);
    }
    if let Some(pattern) = pattern
        && compiled(pattern).is_ok()
    {
        let store = MemoryStore::default();
        store.put(&reference, content).expect("an empty store takes anything");
        let found = search(&store, pattern, context, limit).expect("the pattern can be compiled");
        assert!(found.chars().count() <= limit + AROUND, "{limit}: {found:?}");
    }
});

/// Compares with serde_json where that writes the same text back: of equal keys it takes the last.
fn check_pointer(pointer: &str, content: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(content) else { return };
    if value.to_string().as_bytes() != content {
        return;
    }
    let reference = Reference::of("tool", content);
    let request = Request { pointer: Some(pointer), limit: usize::MAX, ..Request::default() };
    let found = retrieve(&reference, content, &request);
    match (value.pointer(pointer), found) {
        (Some(expected), Ok(found)) => {
            let body = found.split_once('\n').map_or("", |(_, body)| body);
            let expected = expected.as_str().map_or_else(|| expected.to_string(), str::to_owned);
            assert_eq!(body, expected, "{pointer:?}");
        }
        (None, Err(_)) => {}
        (expected, found) => panic!("{pointer:?}: {expected:?} is expected, {found:?} found"),
    }
}
