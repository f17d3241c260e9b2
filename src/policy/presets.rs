//! Policies by name. Each is the default of its system's adapter.

use super::{Level, Policy, ShortenTo, StageName, Superseded};
use crate::compress::Compressor;
use crate::error::{Error, Result};
use crate::store::MarkStyle;
use crate::summary::{Summaries, SummaryFallback, SummaryPrompt};
use crate::tokens::ModelLimits;

/// The window of Gemini's models, and the longest answer, by Google's documentation.
const GEMINI_WINDOW: usize = 1_048_576;
const GEMINI_OUTPUT: usize = 65_536;

/// If a window is given without a reserve, the reserve is at most the window divided by this: a quarter. The usual
/// 8,000 tokens would leave almost nothing of a window of 8,192.
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
    /// `Policy` if no preset has this name.
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

    /// Returns the policy for another window that was given without a reserve. The reserve stays, but is at most a
    /// quarter of the window.
    #[must_use]
    pub fn in_window(self, window: usize) -> Policy {
        Policy { window, reserve_output: self.reserve_output.min(window / MOST_RESERVED), ..self }
    }

    /// Returns the default policy for a model's window. The window less the reserve is at most the model's input limit.
    /// Without a given reserve it is the default one, but at most the model's longest answer and a quarter of the
    /// window.
    #[must_use]
    pub fn for_limits(limits: ModelLimits, reserve_output: Option<usize>) -> Policy {
        let default = Policy::default();
        let most = limits.max_output.unwrap_or(default.reserve_output).min(default.reserve_output);
        let usual = Policy { reserve_output: most, ..default }.in_window(limits.window);
        let reserve_output = reserve_output.unwrap_or(usual.reserve_output);
        Policy { window: limits.window_beside(reserve_output), reserve_output, ..usual }
    }
}

/// Cyber-AutoAgent's cascade. It starts at 65 % and removes 30 % of that, with up to two more passes above 90 %, and
/// never exceeds 98 %. It has 30 seconds. Above 100 messages it prunes to 90, and spares the first and the last 15. Its
/// sizes in characters are converted to tokens by its own ratio of 3.7.
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

/// Returns a ladder whose later levels spare these shares of the recent messages.
fn ladder(recent: &[f64]) -> Vec<Level> {
    let later = recent.iter().map(|recent| Level { recent: *recent, recent_results: 0.0, ..Level::default() });
    std::iter::once(Level::default()).chain(later).collect()
}

/// Amplifier counts four characters for a token, and keeps 250 characters of a result.
const AMPLIFIER_RESULT: usize = 250 / 4;

/// Amplifier's simple context. The system messages, the task and the last ten messages are kept. If they take too much,
/// their results are shortened, and then everything but the required content may be removed.
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

/// Amplifier's eight levels. Results are shortened a quarter at a time, except for the last five. In between messages
/// are removed, from ever more of the recent ones. It stops when half of the window is free. Lines of removed messages
/// are kept. Amplifier's last level replaces the first request by a stub; here the task is kept.
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

/// The SRE agent's emergency compaction. At 750,000 tokens of Gemini's window, all messages but the first request and
/// the last ten, or six, become a line each.
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
        // It does not consider a cache, and its trigger is a fixed number.
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

/// The working context of an ADK session, `ullage.adk.SessionCompactor`. The last five contents are kept, after an
/// account of the others.
fn adk_session() -> Policy {
    Policy { window: 32_000, reserve_output: 0, keep_recent: 5, summaries: Summaries::Always, ..Policy::default() }
}

/// Supyagent's. After thirty messages a summary with its five sections replaces all but the last six. A full request is
/// reduced to four fifths, by whole messages.
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

/// Valis'. Results of more than 20,000 tokens become files as they arrive. From 85 % on, pointers replace results and
/// text that calls wrote. Above 95 %, a summary with six sections replaces all but the newest fifth.
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
