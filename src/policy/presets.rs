//! Policies by name. Each is the default of the adapter of that system.

use super::{Level, Policy, ShortenTo, StageName, Superseded};
use crate::compress::Compressor;
use crate::error::{Error, Result};
use crate::store::MarkStyle;
use crate::summary::{Summaries, SummaryFallback, SummaryPrompt};
use crate::tokens::ModelLimits;

/// The window of Gemini's models, and the most that they answer, as Google's page on them gives it.
const GEMINI_WINDOW: usize = 1_048_576;
const GEMINI_OUTPUT: usize = 65_536;

/// If a window is given without a reserve, the reserve is at most the window divided by this, a quarter. The usual 8,000
/// tokens would leave nothing of a window of 8,192.
const MOST_RESERVED: usize = 4;

impl Policy {
    /// The names that [`Policy::preset`] knows.
    pub const PRESETS: [&'static str; 8] = [
        "default",
        "cyber-autoagent",
        "amplifier-simple",
        "amplifier-smart",
        "supyagent",
        "sre-agent",
        "adk-session",
        "valis",
    ];

    /// Returns a policy by name.
    ///
    /// # Errors
    /// `Policy` if there is none of that name.
    pub fn preset(name: &str) -> Result<Policy> {
        match name {
            "default" => Ok(Policy::default()),
            "cyber-autoagent" => Ok(cyber_autoagent()),
            "amplifier-simple" => Ok(amplifier_simple()),
            "amplifier-smart" => Ok(amplifier_smart()),
            "supyagent" => Ok(supyagent()),
            "valis" => Ok(valis()),
            "sre-agent" => Ok(sre_agent()),
            "adk-session" => Ok(adk_session()),
            _ => Err(Error::Policy {
                setting: "preset".to_owned(),
                problem: format!("there is no preset '{name}'; known are: {}", Policy::PRESETS.join(", ")),
            }),
        }
    }

    /// This policy in another window, for which no reserve is given: as much as before is reserved for the answer, but at
    /// most a quarter of the window.
    #[must_use]
    pub fn in_window(self, window: usize) -> Policy {
        Policy { window, reserve_output: self.reserve_output.min(window / MOST_RESERVED), ..self }
    }

    /// The default policy in the window of a model: what the window leaves beside the reserve is never more than the
    /// model takes as input. The reserve, where none is given, is the default one, but no more than the model can
    /// answer and at most a quarter of the window.
    #[must_use]
    pub fn for_limits(limits: ModelLimits, reserve_output: Option<usize>) -> Policy {
        let default = Policy::default();
        let most = limits.max_output.unwrap_or(default.reserve_output).min(default.reserve_output);
        let usual = Policy { reserve_output: most, ..default }.in_window(limits.window);
        let reserve_output = reserve_output.unwrap_or(usual.reserve_output);
        Policy { window: limits.window_beside(reserve_output), reserve_output, ..usual }
    }
}

/// Cyber-AutoAgent's cascade: 65 % triggers, 30 % of that go, up to two more passes above 90 %, never above 98 %, 30 seconds;
/// 100 messages, pruned to 90 of them, the first and the last 15 left alone. Its sizes in characters are tokens here by its
/// own 3.7.
fn cyber_autoagent() -> Policy {
    Policy {
        window: 200_000,
        reserve_output: 4_000,
        high: 0.65,
        low: 0.455,
        escalate: Some(0.9),
        cache_relax: 0.1,
        ceiling: 0.98,
        keep_first: 1,
        keep_recent: 15,
        max_messages: Some(100),
        low_messages: 0.9,
        compressor: Compressor::CyberAutoagent,
        marks: MarkStyle::CyberAutoagent,
        shrink_above: 2_703,
        shrink_to: 2_162,
        offload_above: 2_703,
        offload_preview: 1_081,
        compress_to: 2_162,
        summary_prompt: SummaryPrompt::CyberAutoagent,
        summary_ratio: 0.3,
        summary_timeout: 30.0,
        time_limit: 30.0,
        stages: vec![
            StageName::Offload,
            StageName::Compress,
            StageName::Window,
            StageName::Digest,
            StageName::Summarize,
            StageName::Trim,
        ],
        ..Policy::default()
    }
}

/// A ladder whose later levels leave alone these shares of the recent messages.
fn ladder(recent: &[f64]) -> Vec<Level> {
    let later = recent.iter().map(|recent| Level { recent: *recent, recent_results: 0.0, ..Level::default() });
    std::iter::once(Level::default()).chain(later).collect()
}

/// Amplifier counts four characters for a token, and leaves 250 characters of a result.
const AMPLIFIER_RESULT: usize = 250 / 4;

/// Amplifier's simple way: the system messages and the last ten stay, and the task does too. Where they take too much, their
/// results are shortened, and then all but what must stay may go.
fn amplifier_simple() -> Policy {
    let shortened = Level { stages: vec![StageName::Compress], recent: 0.0, recent_results: 0.0, ..Level::default() };
    let least = Level {
        stages: vec![StageName::Window, StageName::Compress],
        shorten_to: ShortenTo::OffloadPreview,
        ..shortened.clone()
    };
    Policy {
        window: 200_000,
        reserve_output: 1_800,
        high: 0.92,
        low: 0.01,
        escalate: Some(0.92),
        keep_first: 0,
        keep_recent: 10,
        compressor: Compressor::Amplifier,
        offload_preview: AMPLIFIER_RESULT,
        stages: vec![StageName::Compress, StageName::Window, StageName::Trim],
        levels: vec![Level { stages: vec![StageName::Window], ..Level::default() }, shortened, least],
        ..Policy::default()
    }
}

/// Amplifier's eight levels: results are cut a quarter at a time, the last five of them spared, and in between messages go,
/// of ever more of the recent ones; it stops as soon as half of the window is free. Lines of what goes are kept. Where
/// Amplifier ends by stubbing the first request, everything but what must stay may go: the task stays.
fn amplifier_smart() -> Policy {
    const PROTECTED_RESULTS: usize = 5;
    let results = |share: f64| Level {
        stages: vec![StageName::Offload, StageName::Compress],
        results: share,
        keep_results: PROTECTED_RESULTS,
        recent: 0.0,
        recent_results: 0.0,
        ..Level::default()
    };
    let messages = |recent: f64| Level { stages: vec![StageName::Window], recent, ..Level::default() };
    Policy {
        window: 200_000,
        reserve_output: 1_800,
        high: 0.92,
        low: 0.5,
        escalate: Some(0.5),
        keep_recent: 1,
        keep_recent_share: 0.3,
        compressor: Compressor::Amplifier,
        offload_above: AMPLIFIER_RESULT,
        offload_preview: AMPLIFIER_RESULT,
        compress_to: AMPLIFIER_RESULT,
        stages: vec![StageName::Offload, StageName::Compress, StageName::Window, StageName::Digest, StageName::Trim],
        levels: vec![
            results(0.25),
            results(0.5),
            messages(1.0),
            results(0.75),
            messages(0.6),
            results(1.0),
            messages(0.3),
            Level { recent: 0.0, recent_results: 0.0, ..Level::default() },
        ],
        ..Policy::default()
    }
}

/// The SRE agent's emergency compaction: at 750,000 tokens of Gemini's window all but the first request and the last ten
/// messages, or six, become a line each.
fn sre_agent() -> Policy {
    const TRIGGER: f64 = 750_000.0;
    #[allow(clippy::cast_precision_loss)] // Below 2^52, where every whole number is exact.
    let high = TRIGGER / (GEMINI_WINDOW - GEMINI_OUTPUT) as f64;
    Policy {
        window: GEMINI_WINDOW,
        reserve_output: GEMINI_OUTPUT,
        high,
        low: 0.25,
        escalate: Some(high),
        // It counts no cache, and its trigger is a figure.
        cache_relax: 0.0,
        keep_first: 1,
        keep_recent: 10,
        compressor: Compressor::SreAgent,
        summaries: Summaries::Always,
        summary_fallback: SummaryFallback::OneLiners,
        levels: ladder(&[0.6, 0.0]),
        ..Policy::default()
    }
}

/// The working context of a session of ADK, `ullage.adk.SessionCompactor`: the last five contents stay, and an account of the
/// others is before them.
fn adk_session() -> Policy {
    Policy { window: 32_000, reserve_output: 0, keep_recent: 5, summaries: Summaries::Always, ..Policy::default() }
}

/// Supyagent's: a summary in its five sections after thirty messages, of which the last six stay; and a request is filled
/// with whole messages, down to four fifths where it was full.
fn supyagent() -> Policy {
    Policy {
        window: 128_000,
        reserve_output: 4_096,
        high: 1.0,
        low: 0.8,
        escalate: Some(1.0),
        keep_first: 0,
        keep_recent: 6,
        max_messages: Some(30),
        low_messages: 0.2,
        compressor: Compressor::Supyagent,
        summary_prompt: SummaryPrompt::Supyagent,
        summary_ratio: 0.3,
        stages: vec![StageName::Window, StageName::Summarize, StageName::Trim],
        levels: ladder(&[0.0]),
        ..Policy::default()
    }
}

/// Valis': results of more than 20,000 tokens become files as they arrive; from 85 % on, results and what calls wrote give way to
/// pointers; above 95 % a summary in six sections stands for all but the newest fifth.
fn valis() -> Policy {
    let pointers = Level {
        stages: vec![StageName::Offload, StageName::Prune],
        superseded: Superseded::Elsewhere,
        ..Level::default()
    };
    let mut levels = ladder(&[0.5, 0.0]);
    levels.insert(0, pointers);
    Policy {
        window: 128_000,
        // Its thresholds are shares of the whole window.
        reserve_output: 0,
        high: 0.85,
        low: 0.2,
        escalate: Some(0.95),
        compressor: Compressor::Valis,
        marks: MarkStyle::Valis,
        shrink_above: 20_000,
        summary_prompt: SummaryPrompt::Valis,
        stages: vec![
            StageName::Offload,
            StageName::Prune,
            StageName::Window,
            StageName::Digest,
            StageName::Summarize,
            StageName::Trim,
        ],
        levels,
        ..Policy::default()
    }
}
