//! The frames around what is left of an output, in the words of three systems.

use std::sync::Arc;

use crate::support::generate::text;
use crate::support::{Message, cases, compact, engine, exact, render, small_policy, undigested, word};
use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::planner::Urgency;
use ullage::policy::{Policy, StageName};
use ullage::store::{
    FileStore, MarkStyle, NOTE_ANSWER, Places, Reference, RemovalNote, Store, Storing, Whereabouts, is_retrieved,
    marked, marked_reference, noted_removals, removal_note, retrieval_marked,
};
use ullage::wire::Format;

const STYLES: [MarkStyle; 3] = [MarkStyle::Ullage, MarkStyle::CyberAutoagent, MarkStyle::Valis];

#[test]
fn the_words_are_those_of_the_systems() {
    let reference = Reference::of("nmap", b"out");
    let frame = |style: MarkStyle| style.frame("nmap", 125_432, "head", &Whereabouts::Stored(&reference), None);
    assert_eq!(
        frame(MarkStyle::CyberAutoagent),
        format!(
            "[Tool output: 125,432 chars total | Preview: 4 chars below | Full: {reference}]\n\nhead\n\n\
             [Complete output saved to: {reference}]"
        )
    );
    assert_eq!(
        frame(MarkStyle::Valis),
        format!(
            "[Large output saved to {reference}]\n\nPreview:\nhead\n\nUse read_file(\"{reference}\") to view full content."
        )
    );
}

#[test]
fn only_what_a_retrieval_returned_is_retrieved() {
    let reference = Reference::of("nmap", b"out");
    assert!(is_retrieved(&retrieval_marked(&reference, "lines 1 to 3 of 9", "a\nb\nc")));
    let output = MarkStyle::Ullage.frame("nmap", 9, "o", &Whereabouts::Stored(&reference), None);
    for other in ["", "[ullage: retrieved from nowhere]", "a [ullage: retrieved from", &output] {
        assert!(!is_retrieved(other), "{other}");
    }
}

#[test]
fn a_file_store_keeps_the_place_that_a_mark_names() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::new(folder.path()).of_session("a session");
    let reference = Reference::of("nmap", b"out");
    let place = store.place(&reference).unwrap();
    assert_eq!(store.place(&reference).unwrap(), place, "asked again");
    store.put(&reference, b"out").unwrap();
    assert_eq!(std::fs::read(&place).unwrap(), b"out");
    let another = FileStore::new(folder.path()).of_session("a session");
    assert_eq!(another.place(&reference).unwrap(), place, "what is there keeps its name");
    let framed = MarkStyle::Valis.frame("nmap", 3, "o", &Whereabouts::Stored(&reference), Some(&another));
    assert_eq!(marked_reference(&framed), Some(reference));
}

#[test]
fn an_engine_frames_and_recognises_in_every_style() {
    let folder = tempfile::tempdir().unwrap();
    for style in STYLES {
        let store = Arc::new(FileStore::new(folder.path()));
        let policy = Policy { marks: style, ..small_policy() };
        let engine = engine(&policy, &exact(), Storing::On).with_places(store);
        let result = json!("all is well, more or less\n".repeat(500));
        let shrunk = engine.shrink_result("bash", &&result, 0, &[]).unwrap();
        let after = shrunk.result.unwrap();
        let text = after.as_str().unwrap();
        assert_eq!(marked_reference(text).as_ref(), Some(&shrunk.artifacts[0].0), "{text}");
        assert_eq!(engine.shrink_result("bash", &&after, 0, &[]).unwrap().result, None, "{text}");
    }
}

#[test]
fn what_is_framed_is_cut_inside_its_frame() {
    let long: String = (0..400).map(|line| format!("{} and some words of its own\n", word(line))).collect();
    for style in STYLES {
        let stages = vec![StageName::Offload];
        let policy = Policy { marks: style, shrink_to: 250, keep_recent: 1, stages, ..small_policy() };
        let engine = engine(&policy, &exact(), Storing::On);
        let result = json!(long);
        let shrunk = engine.shrink_result("bash", &&result, 0, &[]).unwrap();
        let text = shrunk.result.as_ref().and_then(Value::as_str).unwrap();
        let messages = [
            Message::text("user", "go"),
            Message::call("a", "bash"),
            Message::result("a", text),
            Message::text("assistant", "done"),
            Message::text("user", "and now?"),
        ];
        let input = render(&messages, Format::Bedrock);
        let outcome = compact(&engine, &input, Format::Bedrock, 190, Urgency::Hard).unwrap();
        let cut = outcome.output.pointer("/2/content/0/toolResult/content/0/text").and_then(Value::as_str).unwrap();
        assert!(cut.len() < text.len(), "{cut}");
        assert_eq!(marked_reference(cut), marked_reference(text));
        assert!(outcome.stored.is_empty(), "it is stored already");
        let body = marked(cut, Storing::On, &[]).unwrap().body.to_owned();
        assert!(
            body.contains("left out") && !body.contains("Complete output") && !body.contains("read_file"),
            "{body}"
        );
    }
}

#[test]
fn a_note_is_a_line_with_as_much_behind_it_as_it_says() {
    let reference = Reference::of("transcript", b"out");
    let stored = removal_note(1_200, &Whereabouts::Stored(&reference), "They agreed.\n");
    assert_eq!(
        stored,
        format!(
            "[ullage: 1,200 earlier messages are stored as {reference}; retrieve them by that reference; \
             12 characters follow]\nThey agreed.\n"
        )
    );
    let lost = removal_note(3, &Whereabouts::Lost, " \n");
    assert_eq!(lost, "[ullage: 3 earlier messages were removed to fit the context window]");
    for text in [&*stored, &lost, &removal_note(3, &Whereabouts::Lost, "x")] {
        assert_eq!(noted_removals(&format!("{text}\nWhat does this mean?")), None, "a person goes on");
        assert_eq!(noted_removals(&format!("> {text}")), None, "quoted");
    }
    assert_eq!(noted_removals(NOTE_ANSWER).map(|note| note.messages), Some(0));
}

#[test]
fn a_note_that_goes_leaves_its_body_in_the_transcript() {
    let note = removal_note(7, &Whereabouts::Lost, "The port is 8443.");
    for instead_of in [true, false] {
        let mut messages = vec![Message::text("user", "go")];
        if instead_of {
            messages[0].blocks.push(crate::support::Block::Text(note.clone()));
        } else {
            messages.extend([Message::text("assistant", "yes"), Message::text("user", &note)]);
        }
        for turn in 0..8 {
            messages.push(Message::text("assistant", &format!("{turn} {}", "words ".repeat(60))));
            messages.push(Message::text("user", "go on"));
        }
        for format in Format::ALL {
            let engine = engine(&Policy { keep_recent: 3, ..undigested() }, &exact(), Storing::On);
            let outcome = compact(&engine, &render(&messages, format), format, 200, Urgency::Hard).unwrap();
            assert!(!outcome.output.to_string().contains("8443"), "{:#}", outcome.output);
            let (_, transcript) = outcome.stored.first().unwrap();
            assert!(String::from_utf8_lossy(transcript).contains("The port is 8443."), "{}", format.name());
        }
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_note_says_what_it_was_made_of(body in text(300), messages in any::<usize>(), stored: bool) {
        let reference = stored.then(|| Reference::of("transcript", body.as_bytes()));
        let whereabouts = reference.as_ref().map_or(Whereabouts::Lost, Whereabouts::Stored);
        let note = removal_note(messages, &whereabouts, &body);
        let blank = body.trim().is_empty();
        let of = |body| Some(RemovalNote { messages, reference: reference.clone(), body });
        prop_assert_eq!(noted_removals(&note), of(if blank { "" } else { body.trim_start_matches('\n') }));
        // Hosts may take away the space around a text.
        prop_assert_eq!(noted_removals(note.trim()), of(if blank { "" } else { body.trim_start_matches('\n').trim_end() }));
    }

    #[test]
    fn what_is_framed_comes_out_as_it_was(body in text(300), tool in "[a-zA-Z /._-]{0,40}") {
        let reference = Reference::of(&tool, body.as_bytes());
        for style in STYLES {
            let framed = style.frame(&tool, body.chars().count(), &body, &Whereabouts::Stored(&reference), None);
            let marked = marked(&framed, Storing::On, &[]).unwrap();
            prop_assert_eq!(marked.body.trim_start_matches('\n'), body.trim_start_matches('\n'));
            prop_assert_eq!(marked.reference.as_ref(), Some(&reference));
            let again = marked.around(&body);
            prop_assert_eq!(marked_reference(&again), Some(reference.clone()));
        }
    }

    #[test]
    fn any_text_is_read_as_a_mark_or_not(text in text(300), style in 0_usize..6) {
        let front = ["[Tool output: ", "[Large output saved to ", "[ullage: ", "", "[Tool output: 1 chars total | Preview: ",
            "[Large output saved to x-0123456789abcdef]\n\nPreview:\n"][style];
        let _ = marked(&format!("{front}{text}"), Storing::On, &[]);
    }
}
