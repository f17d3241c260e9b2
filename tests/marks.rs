//! The frames around what is left of an output, in the words of three systems.

#![allow(
    clippy::disallowed_methods,
    clippy::format_collect,
    clippy::format_push_string,
    clippy::unwrap_used,
    reason = "a helper of a test fails the test, and may be slow"
)]

mod support;

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use support::generate::text;
use support::{Message, cases, compact, engine, exact, render, small_policy};
use ullage::planner::Urgency;
use ullage::policy::{Policy, StageName};
use ullage::store::{FileStore, MarkStyle, Places, Reference, Store, Storing, Whereabouts, marked, marked_reference};
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
    let long: String = (0..400).map(|line| format!("{line} and some words of its own\n")).collect();
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
        let outcome = compact(&engine, &input, Format::Bedrock, 380, Urgency::Hard).unwrap();
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

proptest! {
    #![proptest_config(cases(200))]

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
