//! Any JSON, as a conversation in every format: read, judged, mended and planned, without a panic and without a history
//! that breaks a rule.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use ullage::engine::{Ask, Engine, Room, apply};
use ullage::ledger::Ledger;
use ullage::planner::{Deadline, Urgency};
use ullage::policy::Policy;
use ullage::store::Storing;
use ullage::tokens::Estimate;
use ullage::validity::{OpenCalls, demands_of, repair, validate};
use ullage::wire::{Format, detect_format, read, rewrite};

fuzz_target!(|bytes: &[u8]| {
    let Ok(messages) = serde_json::from_slice::<Value>(bytes) else { return };
    let _ = detect_format(&&messages); // Either answer is fine.
    for format in Format::ALL {
        let Ok(conversation) = read(&&messages, format) else { continue };
        let repaired = repair(&conversation, demands_of(format), OpenCalls::Answer);
        let mended = rewrite(&&messages, &conversation, format, &repaired.changes).expect("what is mended can be written");
        let mended = Value::Array(mended);
        let read_again = read(&&mended, format).expect("what is mended can be read");
        assert_eq!(validate(&read_again, demands_of(format)), []);
        plan(&mended, format);
    }
});

fn plan(messages: &Value, format: Format) {
    let ledger = Arc::new(Ledger::new(Arc::new(Estimate::claude())));
    let engine = Engine::new(Policy::default(), ledger, Storing::Off).expect("the default policy is valid");
    let reading = engine.read(&messages, Some(format), &[]).expect("what is mended can be read");
    for budget in [10, 100, 1_000] {
        let room = Room { budget: Some(budget), fixed: 0 };
        let ask = Ask { room, urgency: Urgency::Hard, salt: 0, distrusted: &[], deadline: Deadline::Never };
        // A budget may be too small for what must stay.
        if let Ok(plan) = engine.plan(&reading, ask) {
            let left = Value::Array(apply(&plan, &messages).expect("the messages have not changed"));
            assert_eq!(validate(&read(&&left, format).expect("what is left can be read"), demands_of(format)), []);
        }
    }
}
