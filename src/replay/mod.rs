//! Measures the effect of a compaction on a recorded session.
//!
//! A session is cut where its history was long. Text of earlier tool outputs that the agent repeats after the cut is
//! text that it needed. The context after a compaction either contains it or has lost it. A compressor measures how
//! well the context helps to predict the agent's next actions and words. No model is used, so the figures are the same
//! on every machine. They are upper bounds: a model may overlook text in its context.

mod baselines;
mod cover;
mod coverage;
mod cuts;
mod edits;
mod help;
mod needs;
mod pieces;
mod share;
mod thread;

pub use baselines::{Context, LINE_COVER_WINDOW, line_cover, window};
pub use coverage::Coverage;
pub use cuts::{CutRules, cuts};
pub use help::Help;
pub use needs::{Needs, Retention};
pub use share::Share;
pub use thread::Continuity;
