//! A note that joins words of a user whose content is a string: that stays a string, and the note is told from the words.

use std::borrow::Cow;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::message::Part;
use ullage::planner::Urgency;
use ullage::policy::Policy;
use ullage::store::{MemoryStore, Reference, Store, Storing, Whereabouts, noted_removals, removal_note};
use ullage::wire::{Format, read};

use crate::support::check::texts;
use crate::support::one_format::{edit, edited};
use crate::support::{Message, ask, cases, compact_into, engine, exact, render, small_policy};

/// Those whose content can be a string.
const FORMATS: [Format; 4] = [Format::Anthropic, Format::OpenAi, Format::OpenAiResponses, Format::AiSdk];

fn user(text: &str) -> Value {
    json!({ "type": "message", "role": "user", "content": text, "x-host": 1 })
}

fn parts(entry: &Value, format: Format) -> Vec<String> {
    let entries = json!([entry]);
    let conversation = read(&&entries, format).unwrap();
    let text =
        |part: &Part<Cow<'_, str>>| if let Part::Text(text) = part { text.to_string() } else { panic!("{entry}") };
    conversation.messages[0].parts.iter().map(text).collect()
}

/// Words that may hold a border, a note and space at either end.
fn words() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(" ---\n".to_owned()),
        Just("\n\n123456 ---\n".to_owned()),
        Just(removal_note(3, &Whereabouts::Lost, "of a stranger")),
        Just(" \n".to_owned()),
        "[a-zé\u{fffd}0-9\n-]{0,12}",
    ];
    vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn texts_that_join_a_string_are_read_as_they_were(
        first in words(),
        more in vec(words(), 1..4),
        dropped in any::<prop::sample::Index>(),
    ) {
        let all: Vec<&str> = std::iter::once(&first).chain(&more).map(String::as_str).collect();
        for format in FORMATS {
            let joined = edited(&json!([user(&first)]), format, &edit(vec![], vec![], all[1..].to_vec()));
            prop_assert_eq!(joined.len(), 1);
            let string = joined[0]["content"].as_str().expect("a string stays one");
            prop_assert!(string.starts_with(&first));
            prop_assert_eq!(&parts(&joined[0], format), &all, "{:?}", format);
            // A host may take away the space around it.
            let last = all[all.len() - 1].trim_end();
            if !first.trim().is_empty() && !last.is_empty() {
                prop_assert_eq!(parts(&user(string.trim()), format).pop(), Some(last.to_owned()));
            }

            let dropped = dropped.index(all.len());
            let rest: Vec<&str> = (0..all.len()).filter(|part| *part != dropped).map(|part| all[part]).collect();
            let after = edited(&json!([joined[0]]), format, &edit(vec![], vec![dropped], vec![]));
            prop_assert_eq!(&parts(&after[0], format), &rest, "{:?}", format);
            let renewed = edited(&json!([joined[0]]), format, &edit(vec![(0, 0, "shorter")], vec![], vec![]));
            prop_assert_eq!(&parts(&renewed[0], format)[1..], &all[1..], "{:?}", format);
            prop_assert!(after[0]["content"].is_string() && renewed[0]["content"].is_string());
        }
    }

    #[test]
    fn a_border_that_stands_behind_other_words_is_none(first in words(), note in words(), other in "[a-z]{1,9}") {
        let joined = edited(&json!([user(&first)]), Format::OpenAi, &edit(vec![], vec![], vec![&note]));
        let quoted = other + joined[0]["content"].as_str().unwrap();
        for format in FORMATS {
            prop_assert_eq!(parts(&user(&quoted), format), [&*quoted]);
        }
    }
}

#[test]
fn only_a_user_has_joined_texts() {
    let joined = edited(&json!([user("Task")]), Format::OpenAi, &edit(vec![], vec![], vec!["note"]));
    let string = joined[0]["content"].as_str().unwrap();
    assert_eq!(parts(&joined[0], Format::OpenAi), ["Task", "note"]);
    for role in ["assistant", "system"] {
        let entry = json!({ "role": role, "content": string });
        for format in FORMATS {
            assert_eq!(parts(&entry, format), [string]);
        }
    }
    let result = json!([{ "role": "tool", "tool_call_id": "c", "content": string }]);
    let conversation = read(&&result, Format::OpenAi).unwrap();
    assert!(matches!(&conversation.messages[0].parts[..], [Part::Result { items, .. }] if items.len() == 1));
}

#[test]
fn many_borders_take_time_in_proportion() {
    let text = "\n\n123456 ---\n[ullage: 3 earlier messages".repeat(50_000);
    for format in FORMATS {
        assert_eq!(parts(&user(&text), format).len(), 1);
    }
}

/// A run whose requests and results are strings, some of them with what a note looks like in another run.
fn turns(first: usize, forged: &str) -> Vec<Message> {
    let turn = |at: usize| {
        let id = format!("c{at}");
        let log = format!("line {at} of a log that says little. ").repeat(60);
        [
            Message::text("user", &format!("Look at part_{at}.{forged}")),
            Message::call(&id, "read_log"),
            Message::result(&id, &format!("{log}{forged}")),
            Message::text("assistant", &format!("I have seen part_{at}.")),
        ]
    };
    (first..first + 12).flat_map(turn).collect()
}

#[test]
fn the_task_stays_a_string_with_one_note_however_often_it_is_compacted() {
    let policy = Policy { keep_recent: 3, ..small_policy() };
    for format in FORMATS {
        let counter = exact();
        let engine = engine(&policy, &counter, Storing::On);
        let store = MemoryStore::default();
        let mut forged = String::new();
        let mut messages = json!([]);
        let mut references: Vec<Reference> = Vec::new();
        for round in 0..4 {
            let mut more = render(&turns(12 * round, &forged), format);
            for content in more.as_array_mut().unwrap().iter_mut().filter_map(|entry| entry.get_mut("content")) {
                if let Some(text) = content[0]["text"].as_str().filter(|_| content.as_array().unwrap().len() == 1) {
                    *content = json!(text);
                }
            }
            messages.as_array_mut().unwrap().extend(more.as_array().unwrap().iter().cloned());
            let outcome = compact_into(&store, &engine, &messages, format, ask(1_500, Urgency::Hard)).unwrap();
            messages = outcome.output;
            let Some(task) = messages[0]["content"].as_str() else { panic!("{format:?}: {}", messages[0]) };
            let [words, note] = texts(task)[..] else { panic!("{format:?}: {task}") };
            assert_eq!(words, "Look at part_0.");
            let noted = noted_removals(note).unwrap_or_else(|| panic!("{format:?}: {note}"));
            assert!(noted.messages > 12 * round, "{format:?}: the number of all that was removed: {note}");
            references.extend(noted.reference);
            assert_eq!(references.len(), round + 1, "each compaction has a reference of its own");
            let again = compact_into(&store, &engine, &messages, format, ask(1_500, Urgency::Hard)).unwrap();
            assert_eq!(again.output, messages, "the second time changes nothing");
            // From now on users and tools quote it.
            forged = task["Look at part_0.".len()..].to_owned();
        }
        for reference in references {
            assert!(store.get(&reference).is_ok(), "{reference}");
        }
    }
}
