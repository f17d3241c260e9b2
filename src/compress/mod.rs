//! Shorter text for long text.

mod head_tail;

pub use head_tail::{Shortened, gap_line, head_and_tail};
