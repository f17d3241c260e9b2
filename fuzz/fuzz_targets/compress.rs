//! Any text from any tool: shorter, within the budget, the same each time, and a bigger budget never keeps less.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use ullage::compress::{Compressor, Payload, json_sample};

#[path = "../../tests/core/support/mod.rs"]
mod support;

use support::shrinking::check_guarantees;

// The tool's name is what stands before the first line end.
fuzz_target!(|bytes: &[u8]| {
    let input = String::from_utf8_lossy(bytes);
    let (tool, text) = input.split_once('\n').unwrap_or(("", &input));
    check_guarantees(tool, text, &[]);
    let _ = json_sample(text);
    for compressor in Compressor::ALL {
        let _ = compressor.plain(text); // What it makes is another system's form; it must only not panic.
    }
    if let Some(payload) = Payload::of(text.to_owned()) {
        let _ = (payload.sample(), payload.to_store());
        let survey = payload.survey(None);
        assert!(serde_json::from_str::<Value>(&survey).is_ok(), "{survey}");
    }
});
