//! What a compaction would have cost a recorded session.
//!
//! A session is cut where its history was long. What its agent repeated after the cut, of what tools had told it before,
//! is what it needed; a context that a compaction leaves has it or has lost it. How much a context helps to predict what
//! the agent did and said next is measured by a compressor. No model is asked, so the figures are the same on every
//! machine, and they are upper bounds: what stands in a context may still be overlooked.

mod baselines;
mod cover;
mod cuts;
mod edits;
mod help;
mod needs;
mod pieces;
mod share;
mod shown;
mod thread;

pub use baselines::{Context, LINE_COVER_WINDOW, line_cover, window};
pub use cuts::{Cutting, cuts};
pub use help::Help;
pub use needs::{Needs, Retention};
pub use share::Share;
pub use shown::Shown;
pub use thread::Continuity;
