//! Any JSON, as a conversation in every format: read, judged, mended and planned, without a panic and without a history
//! that breaks a rule.

#![no_main]

use std::sync::Arc;

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use ullage::engine::{Ask, Engine, Room, apply};
use ullage::error::Error;
use ullage::ledger::Ledger;
use ullage::planner::{Deadline, Urgency};
use ullage::policy::Policy;
use ullage::store::Storing;
use ullage::tokens::Estimate;
use ullage::validity::{OpenCalls, demands_of, repair, validate};
use ullage::wire::{Format, detect_format, read, rewrite};

#[path = "../../tests/support/nearly.rs"]
mod nearly;

use nearly::{ENTRIES, NAMES, WORDS};

/// Levels of a value that is put together: a block of a result of an entry, and what is in it.
const DEEPEST: usize = 6;

fuzz_target!(|bytes: &[u8]| {
    let messages = match bytes.first() {
        // As it stands, for seeds and for what no piece leads to.
        Some(b'[' | b'{') => match serde_json::from_slice(bytes) {
            Ok(messages) => messages,
            Err(_) => return,
        },
        _ => put_together(&mut Unstructured::new(bytes)),
    };
    let _ = detect_format(&&messages); // Either answer is fine.
    for format in Format::ALL {
        let Ok(conversation) = read(&&messages, format) else { continue };
        let repaired = repair(&conversation, demands_of(format), OpenCalls::SummaryAnswer);
        let mended =
            rewrite(&&messages, &conversation, format, &repaired.changes).expect("what is mended can be written");
        let mended = Value::Array(mended.into_iter().map(|entry| entry.value).collect());
        let read_again = read(&&mended, format).expect("what is mended can be read");
        assert_eq!(validate(&read_again, demands_of(format)), [], "{}: {mended}", format.name());
        for storing in [Storing::Off, Storing::On] {
            plan(&mended, format, storing);
        }
    }
});

/// A list of entries of one format, some of them with other values in their places.
fn put_together(bytes: &mut Unstructured<'_>) -> Value {
    let mut messages = Vec::new();
    let of = bytes.choose_index(ENTRIES.len()).unwrap_or_default();
    while !bytes.is_empty() {
        let Ok(text) = bytes.choose(ENTRIES[of]) else { break };
        let mut entry = serde_json::from_str(text).expect("an entry is JSON");
        if bytes.ratio(1, 2).unwrap_or_default() {
            damage(&mut entry, bytes);
        }
        messages.push(entry);
    }
    Value::Array(messages)
}

/// Puts another value somewhere into this one.
fn damage(value: &mut Value, bytes: &mut Unstructured<'_>) {
    let goes_in = bytes.ratio(3, 4).unwrap_or_default();
    match value {
        Value::Array(items) if goes_in && !items.is_empty() => {
            let at = bytes.choose_index(items.len()).unwrap_or_default();
            damage(&mut items[at], bytes);
        }
        Value::Object(fields) if goes_in && !fields.is_empty() => {
            let at = bytes.choose_index(fields.len()).unwrap_or_default();
            damage(fields.values_mut().nth(at).expect("OK because the index was chosen below the length"), bytes);
        }
        Value::Array(items) => items.push(any_value(bytes, DEEPEST)),
        Value::Object(fields) => {
            let name = bytes.choose(NAMES).copied().unwrap_or_default();
            fields.insert(name.to_owned(), any_value(bytes, DEEPEST));
        }
        leaf => *leaf = any_value(bytes, DEEPEST),
    }
}

fn any_value(bytes: &mut Unstructured<'_>, depth: usize) -> Value {
    let kind: u8 = bytes.arbitrary().unwrap_or_default();
    match kind % 8 {
        0 => Value::Null,
        1 => Value::from(kind < 128),
        2 => Value::from(bytes.arbitrary::<i32>().unwrap_or_default()),
        3 | 4 if depth > 0 && !bytes.is_empty() => (0..kind / 64).map(|_| any_value(bytes, depth - 1)).collect(),
        5 if depth > 0 && !bytes.is_empty() => {
            let fields = (0..kind / 64).map(|_| {
                let name = bytes.choose(NAMES).copied().unwrap_or_default();
                (name.to_owned(), any_value(bytes, depth - 1))
            });
            Value::Object(fields.collect())
        }
        6 => Value::from(bytes.arbitrary::<&str>().unwrap_or_default()),
        _ => Value::from(bytes.choose(WORDS).copied().unwrap_or_default()),
    }
}

fn plan(messages: &Value, format: Format, storing: Storing) {
    let ledger = Arc::new(Ledger::new(Arc::new(Estimate::claude())));
    let engine = Engine::new(Policy::default(), ledger, storing).expect("the default policy is valid");
    let reading = engine.read(&messages, Some(format), &[]).expect("what is mended can be read");
    for budget in [10, 100, 1_000] {
        let room = Room { budget: Some(budget), fixed: 0, ceiling: None };
        let ask = Ask { room, urgency: Urgency::Hard, salt: 0, distrusted: &[], deadline: Deadline::Never, answer: None };
        match engine.plan(&reading, ask) {
            Ok(plan) => {
                let left = Value::Array(apply(&plan, &messages).expect("the messages have not changed"));
                let left = read(&&left, format).expect("what is left can be read");
                assert_eq!(validate(&left, demands_of(format)), [], "{}: {messages}", format.name());
            }
            // A budget may be too small for what must stay.
            Err(error) => assert!(matches!(error, Error::Budget { .. }), "{error}"),
        }
    }
}
