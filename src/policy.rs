//! The settings of an engine, checked.

use serde::{Deserialize, Serialize};

use crate::compress::Compressor;
use crate::error::{Error, Result};
use crate::store::MarkStyle;
use crate::summary::{Summaries, SummaryFallback, SummaryPrompt};
use crate::tokens::ModelLimits;

/// One step of compaction. Their order in [`Policy::stages`] is the order in which they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StageName {
    /// Moves older tool results to the store and leaves a preview and a reference.
    Offload,
    /// Shortens long tool results where they stand.
    Compress,
    /// Leaves a line in place of what is superseded: said again, out of date, or in a file by now.
    Prune,
    /// Removes the oldest messages.
    Window,
    /// Keeps, of all that the others take away, the lines that are most likely needed.
    Digest,
    /// Says in a few words what was in them, where the engine has a summarizer.
    Summarize,
}

impl StageName {
    /// Why the stage does what it does, for people.
    pub fn reason(self) -> &'static str {
        match self {
            StageName::Offload => "an older tool result; its preview and reference stay",
            StageName::Compress => "a long tool result; what is needed most in it stays",
            StageName::Prune => "what is superseded; a line stays that says so",
            StageName::Window => "the oldest messages that may go",
            StageName::Digest => "the lines most likely needed of what goes",
            StageName::Summarize => "what was in the messages that went",
        }
    }

    /// The public name.
    pub fn name(self) -> &'static str {
        match self {
            StageName::Offload => "offload",
            StageName::Compress => "compress",
            StageName::Prune => "prune",
            StageName::Window => "window",
            StageName::Digest => "digest",
            StageName::Summarize => "summarize",
        }
    }
}

/// The longest that a summarizer may be waited for, in seconds: a day. Threads cannot wait for just any number.
const LONGEST_TIMEOUT: f64 = 86_400.0;

/// What an engine aims at. Sizes are tokens unless a field says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Context window of the model.
    pub window: usize,
    /// Room kept free for the answer.
    pub reserve_output: usize,
    /// Share of the budget at which compaction starts.
    pub high: f64,
    /// Share of the budget to which it goes down. Far below `high`, because every compaction throws away the
    /// provider's prompt cache: rarely and deeply beats a little on every turn.
    pub low: f64,
    /// What is added to `high` while the provider answers from its prompt cache, which a compaction would throw away.
    pub cache_relax: f64,
    /// More than this `high` never comes to by that.
    pub ceiling: f64,
    /// Requests within which a compaction that could wait must pay back what caching the prompt again costs.
    pub pay_back_within: usize,
    /// Messages at the start that are never removed, system messages aside. The first request never is.
    pub keep_first: usize,
    /// Messages at the end that are left alone as long as the rest suffices.
    pub keep_recent: usize,
    /// What shortens tool results as they arrive. All but the default take no `shrink_to`, and most have thresholds of
    /// their own, in characters.
    pub compressor: Compressor,
    /// How what is left of a stored output is framed.
    pub marks: MarkStyle,
    /// A tool result above this is shrunk when it arrives.
    pub shrink_above: usize,
    /// What is left of it.
    pub shrink_to: usize,
    /// An older tool result above this is moved out.
    pub offload_above: usize,
    /// What is left of it.
    pub offload_preview: usize,
    /// A tool result above this is shortened to this size where nothing else helped.
    pub compress_to: usize,
    /// When removed messages get a summary.
    pub summaries: Summaries,
    /// What it is asked to look like.
    pub summary_prompt: SummaryPrompt,
    /// What is said where no summarizer does.
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
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            window: 200_000,
            reserve_output: 8_000,
            high: 0.85,
            low: 0.5,
            cache_relax: 0.1,
            ceiling: 0.98,
            pay_back_within: 20,
            keep_first: 1,
            keep_recent: 6,
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
            ],
        }
    }
}

impl Policy {
    /// The names that [`Policy::preset`] knows.
    pub const PRESETS: [&'static str; 1] = ["default"];

    /// A policy by name.
    ///
    /// # Errors
    /// `Policy` if there is none of that name.
    pub fn preset(name: &str) -> Result<Policy> {
        match name {
            "default" => Ok(Policy::default()),
            _ => Err(Error::Policy {
                setting: "preset".to_owned(),
                problem: format!("there is no preset '{name}'; known are: {}", Policy::PRESETS.join(", ")),
            }),
        }
    }

    /// The default policy in the window of a model: what the window leaves beside the reserve is never more than the
    /// model takes as input. The reserve, where none is given, is the default one, but no more than the model can
    /// answer and at most a quarter of the window.
    #[must_use]
    pub fn for_limits(limits: ModelLimits, reserve_output: Option<usize>) -> Policy {
        let default = Policy::default();
        let reserve_output = reserve_output.unwrap_or_else(|| limits.reserve(default.reserve_output));
        Policy { window: limits.window_beside(reserve_output), reserve_output, ..default }
    }

    /// The policy itself, if its settings make sense together.
    ///
    /// # Errors
    /// `Policy` with the first setting that does not.
    pub fn checked(self) -> Result<Policy> {
        let refuse = |setting: &str, problem: String| Err(Error::Policy { setting: setting.to_owned(), problem });
        if self.window == 0 {
            return refuse("window", "it must be at least 1 token".to_owned());
        }
        if self.reserve_output >= self.window {
            let problem = format!("{} tokens leave nothing of a window of {}", self.reserve_output, self.window);
            return refuse("reserve_output", problem);
        }
        if !(self.high > 0.0 && self.high <= 1.0) {
            return refuse("high", format!("it is {}, and must be above 0 and at most 1", self.high));
        }
        if !(self.low > 0.0 && self.low <= self.high) {
            return refuse(
                "low",
                format!("it is {}, and must be above 0 and at most `high` ({})", self.low, self.high),
            );
        }
        if !(self.cache_relax >= 0.0 && self.cache_relax <= 1.0) {
            return refuse("cache_relax", format!("it is {}, and must be from 0 to 1", self.cache_relax));
        }
        if !(self.ceiling > 0.0 && self.ceiling <= 1.0) {
            return refuse("ceiling", format!("it is {}, and must be above 0 and at most 1", self.ceiling));
        }
        if self.shrink_to == 0 || self.shrink_to > self.shrink_above {
            return refuse("shrink_to", format!("it must be from 1 to `shrink_above` ({})", self.shrink_above));
        }
        if self.offload_preview == 0 || self.offload_preview > self.offload_above {
            return refuse("offload_preview", format!("it must be from 1 to `offload_above` ({})", self.offload_above));
        }
        if self.compress_to == 0 {
            return refuse("compress_to", "it must be at least 1 token".to_owned());
        }
        for (setting, tokens) in [("summary_tokens", self.summary_tokens), ("summary_input", self.summary_input)] {
            if tokens == 0 {
                return refuse(setting, "it must be at least 1 token".to_owned());
            }
        }
        for (setting, share) in [("summary_ratio", self.summary_ratio), ("summary_ahead", self.summary_ahead)] {
            if !(share > 0.0 && share <= 1.0) {
                return refuse(setting, format!("it is {share}, and must be above 0 and at most 1"));
            }
        }
        if !(self.summary_timeout > 0.0 && self.summary_timeout <= LONGEST_TIMEOUT) {
            let problem =
                format!("it is {}, and must be above 0 and at most {LONGEST_TIMEOUT} seconds", self.summary_timeout);
            return refuse("summary_timeout", problem);
        }
        let mut seen = self.stages.clone();
        seen.sort_unstable();
        seen.dedup();
        if self.stages.is_empty() || seen.len() != self.stages.len() {
            return refuse("stages", "name at least one stage, and each at most once".to_owned());
        }
        Ok(self)
    }
}
