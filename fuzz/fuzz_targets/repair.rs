//! Any JSON, as a conversation in every format: repaired by each rule for open calls, it can be read and is valid, but for calls that
//! wait. A second repair changes nothing, and a valid history stays as it is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use ullage::validity::{OpenCalls, broken, demands_of, repair, validate};
use ullage::wire::{Format, read, rewrite};

#[path = "../messages.rs"]
mod messages;
#[path = "../../tests/core/support/nearly.rs"]
mod nearly;

fuzz_target!(|bytes: &[u8]| {
    let Some(messages) = messages::from_bytes(bytes) else { return };
    for format in Format::ALL {
        let Ok(conversation) = read(&&messages, format) else { continue };
        let was_valid = validate(&conversation, demands_of(format)).is_empty();
        for open in [OpenCalls::Answer, OpenCalls::Remove, OpenCalls::Wait] {
            let repaired = repair(&conversation, demands_of(format), open);
            let output =
                rewrite(&&messages, &conversation, format, &repaired.changes).expect("a repair can be written");
            let output = Value::Array(output.into_iter().map(|entry| entry.value).collect());
            if was_valid {
                assert_eq!((&output, repaired.repairs.len()), (&messages, 0), "{} {open:?}", format.name());
            }
            let again = read(&&output, format).expect("a repaired history can be read");
            let left = match open {
                OpenCalls::Wait => broken(&again, demands_of(format)),
                OpenCalls::Answer | OpenCalls::Remove => validate(&again, demands_of(format)),
            };
            assert_eq!(left, [], "{} {open:?}: {messages} {output}", format.name());
            let second = repair(&again, demands_of(format), open);
            let second = rewrite(&&output, &again, format, &second.changes).expect("a repair can be written");
            let second = Value::Array(second.into_iter().map(|entry| entry.value).collect());
            assert_eq!(second, output, "{} {open:?}: {messages}", format.name());
        }
    }
});
