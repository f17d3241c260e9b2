//! Shorter text for long text.

mod head_tail;

pub use head_tail::{Shortened, head_and_tail};
