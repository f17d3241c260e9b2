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
    /// Room kept free for the answer. In another window, where none is given, at most a quarter of it: see
    /// [`Policy::in_window`].
    pub reserve_output: usize,
    /// Share of the budget at which compaction starts.
    pub high: f64,
    /// Share of the budget to which it goes down. Far below `high`, because every compaction throws away the
    /// provider's prompt cache: rarely and deeply beats a little on every turn. A budget below 10,000 tokens has the low
    /// mark of 10,000, but at most 60 % of its high mark; and no low mark is above 85 % of the high one.
    pub low: f64,
    /// Share of the budget above which the next level of the ladder is tried, where the level before left so much; `high`
    /// if not given, so that no turn begins with the work of the one before. Never less than `low`. Where it is given, what the
    /// first level leaves alone stays whole up to there; otherwise a digest may keep lines of it instead.
    pub escalate: Option<f64>,
    /// Added to `high` while the provider answers from its prompt cache, which a compaction would throw away.
    pub cache_relax: f64,
    /// More than this `high` never comes to by that.
    pub ceiling: f64,
    /// Requests within which a compaction that could wait must pay back what caching the prompt again costs.
    pub pay_back_within: usize,
    /// Messages at the start that are never removed, system messages aside. The first request never is.
    pub keep_first: usize,
    /// Messages at the end that are left alone as long as the rest suffices.
    pub keep_recent: usize,
    /// The same as a share of the budget: the newest messages that fit into it, where those are more.
    pub keep_recent_share: f64,
    /// More messages than this are too many, whatever they take; `None` for any number.
    pub max_messages: Option<usize>,
    /// The share of `max_messages` to which their number then goes down, so that it does not happen on every turn.
    pub low_messages: f64,
    /// The method that shortens tool results as they arrive. All methods but the default take no `shrink_to`, and most have
    /// thresholds of their own, in characters.
    pub compressor: Compressor,
    /// The form of the marks around the rest of a stored output.
    pub marks: MarkStyle,
    /// A tool result above this is shrunk when it arrives.
    pub shrink_above: usize,
    /// Size that is left of it.
    pub shrink_to: usize,
    /// An older tool result above this is moved out.
    pub offload_above: usize,
    /// Size that is left of it.
    pub offload_preview: usize,
    /// A tool result above this is shortened to this size where nothing else helped.
    pub compress_to: usize,
    /// When removed messages get a summary.
    pub summaries: Summaries,
    /// Form of the summary that the prompt requests.
    pub summary_prompt: SummaryPrompt,
    /// Text that replaces the summary if no summarizer gives one.
    pub summary_fallback: SummaryFallback,
    /// The most that a summary takes.
    pub summary_tokens: usize,
    /// The most that it takes as a share of what it stands for; of the summary before it, it may take the whole.
    pub summary_ratio: f64,
    /// The most that the messages take which a summary is made from. The newest go whole, of older ones the head.
    pub summary_input: usize,
    /// The most that is added in lines which hold what a summary has lost.
    pub summary_lines: usize,
    /// Seconds that a summarizer has.
    pub summary_timeout: f64,
    /// Share of the budget from which on the next summary is made while the agent goes on; none is at `high` or above.
    pub summary_ahead: f64,
    /// The stages, in the order in which they run: reversible before lossy.
    pub stages: Vec<StageName>,
    /// The ladder: each level runs the stages again, where those before it left too much. One after the first is a pass of
    /// escalation.
    pub levels: Vec<Level>,
    /// Seconds that a compaction may take, its summary included. When they are over, the last level runs at once, nothing
    /// is improved any more, and the engine's own summary is used.
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
