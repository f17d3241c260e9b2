//! Any JSON, as a conversation in every format: read, judged, mended and planned, without a panic and without a history
//! that breaks a rule.

#![no_main]

use std::sync::Arc;

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

#[path = "../messages.rs"]
mod messages;
#[path = "../../tests/core/support/nearly.rs"]
mod nearly;

fuzz_target!(|bytes: &[u8]| {
    let Some(messages) = messages::from_bytes(bytes) else { return };
    let _ = detect_format(&&messages); // Either answer is fine.
    for format in Format::ALL {
        let Ok(conversation) = read(&&messages, format) else { continue };
        let repaired = repair(&conversation, demands_of(format), OpenCalls::Answer);
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

fn plan(messages: &Value, format: Format, storing: Storing) {
    let ledger = Arc::new(Ledger::new(Arc::new(Estimate::claude())));
    let engine = Engine::new(Policy::default(), ledger, storing).expect("the default policy is valid");
    let reading = engine.read(&messages, Some(format), &[]).expect("what is mended can be read");
    for budget in [10, 100, 1_000] {
        let room = Room { budget: Some(budget), fixed: 0, ceiling: None, has_marks: false };
        let ask =
            Ask { room, urgency: Urgency::Hard, salt: 0, distrusted: &[], deadline: Deadline::Never, answer: None };
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
