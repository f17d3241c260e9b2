//! Any text, as what may hold marks and references: none names a path, what is marked is recognised, and a mark whose
//! reference is not trusted is text like any other.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ullage::store::{
    Reference, Storing, Went, Whereabouts, argument_marked, is_superseded, marked, marked_reference, mentions,
    noted_removals, output_marked, removal_note, retrieval_marked,
};

fuzz_target!(|bytes: &[u8]| {
    for reference in mentions(bytes) {
        check_reference(&reference);
    }
    let text = String::from_utf8_lossy(bytes);
    let _ = (is_superseded(&text), noted_removals(&text));
    if let Ok(reference) = Reference::parse(&text) {
        check_reference(&reference);
        assert_eq!(reference.as_str(), text);
    }
    if let Some(reference) = marked_reference(&text) {
        check_reference(&reference);
        assert!(mentions(bytes).contains(&reference), "{text:?}");
        assert_eq!(marked(&text, Storing::On, &[reference]), None, "{text:?}");
    }
    for storing in [Storing::On, Storing::Off] {
        if let Some(found) = marked(&text, storing, &[]) {
            // A text that is framed again is recognized, with the same body.
            let again = found.around(found.body);
            let again = marked(&again, storing, &[]).expect("a frame is recognised");
            assert_eq!((again.body.trim(), &again.reference), (found.body.trim(), &found.reference), "{text:?}");
        }
    }
    check_marks(&text);
});

fn check_reference(reference: &Reference) {
    let named = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
    assert!(reference.as_str().bytes().all(named), "{reference}");
}

/// Every mark is recognized, for any output and any name of a tool.
fn check_marks(text: &str) {
    let (tool, body) = text.split_once('\n').unwrap_or((text, ""));
    let reference = Reference::of(tool, body.as_bytes());
    check_reference(&reference);
    assert_eq!(Reference::parse(reference.as_str()), Ok(reference.clone()));
    let stored = Whereabouts::Stored(&reference);
    let output = output_marked(tool, body.len(), &stored, body);
    let found = marked(&output, Storing::On, &[]).expect("an output is recognised");
    assert_eq!((found.body.trim(), found.reference.as_ref()), (body.trim(), Some(&reference)), "{output:?}");
    assert!(marked(&retrieval_marked(&reference, "all", body), Storing::On, &[]).is_some());
    let note = removal_note(3, &stored, body);
    let noted = noted_removals(&note).expect("a note is recognised");
    assert_eq!((noted.messages, noted.reference), (3, Some(reference.clone())), "{note:?}");
    let argument = argument_marked(body.len(), Went::Into, tool, &stored);
    assert!(!argument.contains('\n'), "{argument:?}");
}
