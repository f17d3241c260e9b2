//! Any text: pieces and counts are those of the published encodings, by three other means, and a limit on a count tells the
//! truth.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ullage::tokens::{CountTokens, Encoding, Estimate, Exact, TextKind};

#[path = "../../tests/core/support/published.rs"]
mod published;

fuzz_target!(
    // The tables of the oracles take seconds, which are no fault of the first input.
    init: published::assert_exact("a"),
    |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        published::assert_exact(&text);
        for encoding in Encoding::ALL {
            check_limits(&Exact::new(encoding), &text);
        }
        check_limits(&Estimate::claude(), &text);
    }
);

fn check_limits(counter: &dyn CountTokens, text: &str) {
    let count = counter.count(text, TextKind::Prose);
    for limit in [0, count.saturating_sub(1), count, count + 1] {
        assert_eq!(counter.fits(text, TextKind::Prose, limit), count <= limit, "{}, {limit}: {text:?}", counter.name());
    }
}
