//! When a plan must be done.

use std::fmt;

/// The end of the time for a plan. The crate reads no clock, so the caller brings one.
#[derive(Clone, Copy, Default)]
pub enum Deadline<'a> {
    /// Whenever it is.
    #[default]
    Never,
    /// Returns true once the time is over.
    When(&'a (dyn Fn() -> bool + Sync)),
}

impl Deadline<'_> {
    /// True once the time has passed.
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
