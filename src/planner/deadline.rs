//! The time by which a plan must be done.

use std::fmt;

/// The time by which a plan must be done. The crate reads no clock, so the caller passes one.
#[derive(Clone, Copy, Default)]
pub enum Deadline<'a> {
    /// At any time.
    #[default]
    Never,
    /// Returns true after the deadline.
    When(&'a (dyn Fn() -> bool + Sync)),
}

impl Deadline<'_> {
    /// True after the deadline.
    pub fn is_over(self) -> bool {
        match self {
            Deadline::Never => false,
            Deadline::When(over) => over(),
        }
    }
}

impl fmt::Debug for Deadline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_over() { "Deadline(over)" } else { "Deadline" })
    }
}
