//! JSON pointers into stored content, the ends of a text, what is no text, and searching.

use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::store::{MemoryStore, Reference, Request, Store, marked_reference, retrieve, search};

fn reference() -> Reference {
    Reference::parse("bash-0123456789abcdef").unwrap()
}

fn ask(content: &[u8], request: Request<'_>) -> Result<String, String> {
    let request = Request { limit: 10_000_000, ..request };
    let text = retrieve(&reference(), content, &request).map_err(|error| error.to_string())?;
    assert_eq!(marked_reference(&text), Some(reference()));
    Ok(text.split_once('\n').unwrap().1.to_owned())
}

fn at(content: &str, pointer: &str) -> Result<String, String> {
    ask(content.as_bytes(), Request { pointer: Some(pointer), ..Request::default() })
}

/// The examples of RFC 6901, section 5.
#[test]
fn the_pointers_of_the_standard_lead_where_it_says() {
    let document = r#"{"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8}"#;
    for (pointer, value) in [
        ("", document),
        ("/foo", r#"["bar", "baz"]"#),
        ("/foo/0", "bar"),
        ("/", "0"),
        ("/a~1b", "1"),
        ("/c%d", "2"),
        ("/e^f", "3"),
        ("/g|h", "4"),
        ("/i\\j", "5"),
        ("/k\"l", "6"),
        ("/ ", "7"),
        ("/m~0n", "8"),
    ] {
        assert_eq!(at(document, pointer).as_deref(), Ok(value), "{pointer}");
    }
}

#[test]
fn a_pointer_that_leads_nowhere_says_why_and_what_is_near() {
    let document = r#"{"items": [{"name": "x"}, 2], "empty": {}, "text": "t", "name": null}"#;
    for (pointer, words) in [
        ("items", "begin it with a slash"),
        ("/a~2", "write a tilde in a key as ~0"),
        ("/a~", "write a tilde in a key as ~0"),
        ("/itms", "the nearest of its 4 keys: items, "),
        ("/items/0/nam", "the nearest of its 1 keys: name"),
        ("/items/2", "no item 2 in '/items'; it holds 2, counted from 0"),
        ("/items/01", "'01' no index"),
        ("/items/-", "'-' no index"),
        ("/items/x", "'x' no index"),
        ("/items/99999999999999999999999999", "no index"),
        ("/text/0", "'/text' is a string, with nothing inside"),
        ("/name/x", "'/name' is null, with nothing inside"),
        ("/empty/x", "it holds no keys at all"),
    ] {
        let error = at(document, pointer).unwrap_err();
        assert!(error.contains(words), "{pointer}: {error}");
    }
    for (content, words) in [
        ("plain text\nof two lines", "not JSON"),
        ("", "not JSON"),
        ("<html>", "not JSON"),
        ("[1, 2", "broken or cut off"),
        ("{\"a\": 1, \"b\"", "broken or cut off"),
        ("{\"a\" 1}", "broken or cut off"),
        ("[}", "broken or cut off"),
    ] {
        let error = at(content, if content.starts_with('{') { "/c" } else { "/7" }).unwrap_err();
        assert!(error.contains(words), "{content}: {error}");
    }
}

#[test]
fn json_that_is_cut_off_behind_the_value_is_read() {
    assert_eq!(at("{\"a\": [1, {\"b\": \"c\"", "/a/1/b").unwrap(), "c");
    assert_eq!(at("{\"a\": [1, {\"b\"", "/a/0").unwrap(), "1");
    assert_eq!(at("[[1, 2, 3", "/0").unwrap(), "[1, 2, 3");
}

#[test]
fn json_lines_are_an_array_of_their_lines() {
    let lines = "{\"role\": \"user\"}\n{\"role\": \"assistant\"}\n\n{\"role\": \"tool\"}\n";
    assert_eq!(at(lines, "/2/role").unwrap(), "tool");
    assert_eq!(at(lines, "/0").unwrap(), "{\"role\": \"user\"}");
    assert!(at(lines, "/3").unwrap_err().contains("it holds 3"));
    assert!(at(lines, "/role").unwrap_err().contains("no index"));
}

#[test]
fn depth_and_size_do_not_matter() {
    const LEVELS: usize = 100_000;
    for (open, inner, close, step) in [("[", "7", "]", "/0"), ("{\"k\":", "\"deep\"", "}", "/k")] {
        let document = format!("{}{inner}{}", open.repeat(LEVELS), close.repeat(LEVELS));
        assert_eq!(at(&document, &step.repeat(LEVELS)).unwrap(), inner.trim_matches('"'));
        assert_eq!(at(&document, step).unwrap().len(), document.len() - open.len() - close.len());
        assert!(at(&document, &step.repeat(LEVELS + 1)).unwrap_err().contains("nothing inside"));
        // Passed over on the way.
        assert_eq!(at(&format!("[{document}, 1]"), "/1").unwrap(), "1");
    }
}

#[test]
fn half_a_surrogate_pair_stays_as_it_is_written() {
    assert_eq!(at(r#"{"a": "x\ud800y", "b": 1}"#, "/a").unwrap(), r#""x\ud800y""#);
    assert_eq!(at(r#"{"a\ud800": 2, "b": 1}"#, "/b").unwrap(), "1");
}

/// Any JSON value, and a pointer to each value inside.
fn pointers(value: &Value, path: &str, out: &mut Vec<(String, Value)>) {
    out.push((path.to_owned(), value.clone()));
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                pointers(value, &format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), out);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                pointers(value, &format!("{path}/{index}"), out);
            }
        }
        _ => {}
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(crate::support::cases(200))]

    #[test]
    fn every_value_is_found_where_serde_json_has_it(value in any_value(), pretty in any::<bool>()) {
        let written = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let mut all = Vec::new();
        pointers(&value, "", &mut all);
        for (pointer, expected) in all {
            prop_assert_eq!(value.pointer(&pointer), Some(&expected));
            let found = at(&written, &pointer).unwrap();
            match expected {
                Value::String(text) => prop_assert_eq!(found, text),
                other => prop_assert_eq!(serde_json::from_str::<Value>(&found).unwrap(), other),
            }
        }
    }

    #[test]
    fn no_content_and_pointer_is_too_much(content in r#"[\[\]{}",:0-9a-z\\ ]{0,60}"#, pointer in "(/[a-z0-9~]{0,3}){0,4}") {
        let _ = at(&content, &pointer);
    }
}

#[test]
fn the_ends_of_what_is_selected_come_back() {
    let text: String = (1..=20).map(|line| format!("{line} {}\n", if line % 5 == 0 { "x" } else { "-" })).collect();
    let numbers = |request: Request<'_>| -> Vec<usize> {
        let body = ask(text.as_bytes(), request).unwrap();
        body.lines().map(|line| line.split_once(':').unwrap().0.parse().unwrap()).collect()
    };
    let all = Request::default();
    for (request, expected) in [
        (Request { head: Some(2), ..all.clone() }, vec![1, 2]),
        (Request { tail: Some(2), ..all.clone() }, vec![19, 20]),
        (Request { head: Some(1), tail: Some(2), ..all.clone() }, vec![1, 19, 20]),
        (Request { head: Some(0), ..all.clone() }, vec![]),
        (Request { head: Some(15), tail: Some(15), ..all.clone() }, (1..=20).collect()),
        (Request { head: Some(usize::MAX), tail: Some(usize::MAX), ..all.clone() }, (1..=20).collect()),
        (Request { lines: Some(5..=9), tail: Some(2), ..all.clone() }, vec![8, 9]),
        (Request { pattern: Some("x"), head: Some(1), tail: Some(1), ..all.clone() }, vec![5, 20]),
        (Request { pattern: Some("x"), context: 1, tail: Some(3), ..all.clone() }, vec![16, 19, 20]),
    ] {
        assert_eq!(numbers(request.clone()), expected, "{request:?}");
    }
    // Text beyond the limit is cut on the other side.
    let short = Request { tail: Some(10), limit: 12, ..all };
    let cut = retrieve(&reference(), text.as_bytes(), &short).unwrap();
    assert!(cut.contains("[... more before") && cut.ends_with("20: 20 x\n"), "{cut}");
}

#[test]
fn a_value_is_read_by_lines_and_pattern_like_any_text() {
    let content = json!({"log": "one\ntwo\nthree\n", "n": [1, 2]}).to_string();
    let request = Request { pointer: Some("/log"), pattern: Some("t"), ..Request::default() };
    assert_eq!(ask(content.as_bytes(), request).unwrap(), "2: two\n3: three\n");
}

#[test]
fn a_long_pointer_still_leaves_a_mark() {
    let (key, text) = ("ключ]\n".repeat(100), "x\n".repeat(2_000_000));
    let content = json!({ key.as_str(): text }).to_string();
    let pointer = format!("/{key}");
    let request = Request { pointer: Some(&pointer), pattern: Some("x"), tail: Some(1), ..Request::default() };
    assert_eq!(ask(content.as_bytes(), request).unwrap(), "2000000: x\n");
}

#[test]
fn what_is_no_text_is_described() {
    let png = [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xE0\x08\x02\0\0\0"[..], &[0xD7; 90]].concat();
    for request in [Request::default(), Request { pattern: Some("I"), ..Request::default() }] {
        assert_eq!(ask(&png, request).unwrap(), "[image/png, 119 bytes, 640 x 480 pixels]");
    }
    let placed = Request { place: Some("outputs/shot.png"), ..Request::default() };
    assert!(ask(&png, placed).unwrap().ends_with("; the file is outputs/shot.png]"));
    let noise: Vec<u8> = (0..=255).collect();
    assert_eq!(ask(&noise, Request::default()).unwrap(), "[application/octet-stream, 256 bytes]");
    assert_eq!(ask(b"a\0b\nc\0d\n", Request { tail: Some(1), ..Request::default() }).unwrap(), "2: c\0d\n");
}

#[test]
fn a_search_goes_through_everything_and_names_where() {
    let store = MemoryStore::default();
    for (tool, content) in [
        ("alpha", &b"one\nneedle 1\n"[..]),
        ("beta", b"nothing here\n"),
        ("gamma", b"needle 2\nneedle 3\nlast\n"),
        ("image", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR needle \xff\xfe\xfd\xfc\xfb\xfa"),
    ] {
        store.put(&Reference::of(tool, content), content).unwrap();
    }
    let found = search(&store, "needle", 1, 1_000).unwrap();
    let alpha = Reference::of("alpha", b"one\nneedle 1\n");
    assert_eq!(marked_reference(&found), Some(alpha.clone()));
    let lines: Vec<&str> = found.lines().skip(1).collect();
    assert_eq!(lines[0], format!("{alpha} (1 of 2 lines match):"));
    assert_eq!(lines[1..3], ["1: one", "2: needle 1"]);
    assert!(lines[3].starts_with("gamma-") && lines[3].ends_with("(2 of 3 lines match):"), "{found}");
    assert_eq!(lines[4..], ["1: needle 2", "2: needle 3", "3: last"]);
    assert!(found.starts_with(&format!("[ullage: retrieved from {alpha}, found in 2 of 4 outputs, 3 lines match")));
    assert_eq!(search(&store, "absent", 0, 1_000).unwrap(), "no line matches the pattern in any of 4 stored outputs");
    assert!(search(&store, "(", 0, 1_000).is_err());
}

#[test]
fn a_search_is_bounded_and_shows_more_than_the_first() {
    let store = MemoryStore::default();
    for number in 0..50 {
        let content = format!("match {number}\n").repeat(10_000);
        store.put(&Reference::of("bash", content.as_bytes()), content.as_bytes()).unwrap();
    }
    for limit in [0, 10, 100, 5_000] {
        let found = search(&store, "match", 0, limit).unwrap();
        assert!(found.chars().count() <= limit + 1_000, "{limit}: {}", found.len());
        assert!(found.contains("500,000 lines match") && found.contains("more"), "{found}");
    }
    assert!(search(&store, "match", 0, 5_000).unwrap().matches("lines match):").count() > 3);
}

#[test]
fn an_unknown_reference_is_answered_with_the_nearest() {
    let store = MemoryStore::default();
    let known = Reference::of("read_file", b"x");
    store.put(&known, b"x").unwrap();
    let wrong = Reference::parse("read_file-0123456789abcdef").unwrap();
    let error = store.get(&wrong).unwrap_err().to_string();
    assert!(error.contains(&format!("the nearest stored references: {known}")), "{error}");
}
