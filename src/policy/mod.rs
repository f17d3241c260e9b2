//! The settings of an engine, checked.

mod check;
mod level;
mod presets;
mod settings;
mod stage;

use serde::{Deserialize, Serialize};

use crate::compress::Compressor;
use crate::store::MarkStyle;
use crate::summary::{Summaries, SummaryFallback, SummaryPrompt};

pub use level::{Level, ShortenTo, Superseded};
pub use settings::Settings;
pub use stage::StageName;

/// The settings of an engine. Sizes are tokens unless a field says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Context window of the model.
    pub window: usize,
    /// Room kept free for the answer. If only a window is given, at most a quarter of it: see [`Policy::in_window`].
    pub reserve_output: usize,
    /// Share of the budget at which compaction starts.
    pub high: f64,
    /// Share of the budget to which it goes down. Far below `high`, because every compaction makes the provider's
    /// prompt cache useless: a rare and deep one costs less than a small one on every turn. A budget below 10,000
    /// tokens has the low mark of a budget of 10,000, but at most 60 % of its high mark. No low mark is above 85 % of
    /// the high mark.
    pub low: f64,
    /// Share of the budget above which the next level of the ladder is tried. It is `high` if not given, so that the
    /// next turn does not have to compact again, and never less than `low`. If it is given, messages that the first
    /// level leaves alone stay whole up to this share; otherwise a digest may keep only lines of them.
    pub escalate: Option<f64>,
    /// Added to `high` while the provider answers from its prompt cache, which a compaction makes useless.
    pub cache_relax: f64,
    /// The largest value of `high` with `cache_relax`.
    pub ceiling: f64,
    /// Requests within which a compaction that could wait must pay back the cost of caching the prompt again.
    pub pay_back_within: usize,
    /// Messages at the start that are never removed, beside system messages. The first request is never removed.
    pub keep_first: usize,
    /// Messages at the end that do not change as long as shortening others is enough.
    pub keep_recent: usize,
    /// The same as a share of the budget: the newest messages that fit into it, if these are more.
    pub keep_recent_share: f64,
    /// The largest number of messages, whatever their size; `None` for any number.
    pub max_messages: Option<usize>,
    /// The share of `max_messages` to which the number then goes down, so that this does not happen on every turn.
    pub low_messages: f64,
    /// The method that shortens tool results as they arrive. All methods but the default take no `shrink_to`, and most
    /// have thresholds of their own, in characters.
    pub compressor: Compressor,
    /// The form of the marks around the rest of a stored output.
    pub marks: MarkStyle,
    /// A tool result above this size is shortened when it arrives.
    pub shrink_above: usize,
    /// Size that is left of it.
    pub shrink_to: usize,
    /// An older tool result above this size is moved to the store.
    pub offload_above: usize,
    /// Size that is left of it.
    pub offload_preview: usize,
    /// A tool result above this size is shortened to it if nothing else helped.
    pub compress_to: usize,
    /// The condition for a summary of removed messages.
    pub summaries: Summaries,
    /// Form of the summary that the prompt requests.
    pub summary_prompt: SummaryPrompt,
    /// Text that replaces the summary if no summarizer gives one.
    pub summary_fallback: SummaryFallback,
    /// The most that a summary takes.
    pub summary_tokens: usize,
    /// The same as a share of the messages that it replaces. It may be as long as the summary before.
    pub summary_ratio: f64,
    /// The largest size of the messages that a summarizer reads: the newest whole, and the beginning of older ones.
    pub summary_input: usize,
    /// The largest size of the lines that are added because the summary lacks them.
    pub summary_lines: usize,
    /// Seconds that a summarizer has.
    pub summary_timeout: f64,
    /// Share of the budget at which the next summary is begun in the background. With `high` or more, none is begun.
    pub summary_ahead: f64,
    /// The stages, in the order in which they run: reversible before lossy.
    pub stages: Vec<StageName>,
    /// The ladder: each level runs the stages again if the levels before left too many tokens. A level after the first
    /// is a pass of escalation.
    pub levels: Vec<Level>,
    /// Seconds that a compaction may take, with its summary. After that time the last level runs at once, nothing is
    /// improved any more, and the engine's own summary is used.
    pub time_limit: f64,
    /// If true, messages that a provider would refuse are repaired; otherwise they are an error.
    pub repair: bool,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            window: 200_000,
            reserve_output: 8_000,
            high: 0.85,
            low: 0.25,
            escalate: None,
            cache_relax: 0.1,
            ceiling: 0.98,
            pay_back_within: 20,
            keep_first: 1,
            keep_recent: 6,
            keep_recent_share: 0.0,
            max_messages: None,
            low_messages: 0.9,
            compressor: Compressor::Content,
            marks: MarkStyle::Ullage,
            shrink_above: 2_500,
            shrink_to: 1_000,
            offload_above: 400,
            offload_preview: 100,
            compress_to: 1_000,
            summaries: Summaries::Offered,
            summary_prompt: SummaryPrompt::Ullage,
            summary_fallback: SummaryFallback::Sections,
            summary_tokens: 1_500,
            summary_ratio: 0.3,
            summary_input: 60_000,
            summary_lines: 500,
            summary_timeout: 60.0,
            summary_ahead: 1.0,
            stages: vec![
                StageName::Offload,
                StageName::Compress,
                StageName::Prune,
                StageName::Window,
                StageName::Digest,
                StageName::Summarize,
                StageName::Trim,
            ],
            levels: Level::ladder(),
            time_limit: 120.0,
            repair: true,
        }
    }
}
