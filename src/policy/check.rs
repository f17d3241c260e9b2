//! Whether settings make sense together.

use super::{Policy, StageName};
use crate::error::{Error, Result};

/// The longest that anything may be waited for, in seconds: a day. Threads cannot wait for just any number.
const LONGEST_TIMEOUT: f64 = 86_400.0;

impl Policy {
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
        if let Some(share) = self.escalate.filter(|share| !(*share > 0.0 && *share <= 1.0)) {
            return refuse("escalate", format!("it is {share}, and must be above 0 and at most 1"));
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
        if self.max_messages == Some(0) {
            return refuse("max_messages", "it must be at least 1 message, or nothing for any number".to_owned());
        }
        if self.max_messages.is_some() && !self.stages.contains(&StageName::Window) {
            return refuse(
                "max_messages",
                "only the stage `window` removes messages, and it is none of `stages`".to_owned(),
            );
        }
        if !(self.keep_recent_share >= 0.0 && self.keep_recent_share <= 1.0) {
            return refuse("keep_recent_share", format!("it is {}, and must be from 0 to 1", self.keep_recent_share));
        }
        let shares = [
            ("low_messages", self.low_messages),
            ("summary_ratio", self.summary_ratio),
            ("summary_ahead", self.summary_ahead),
        ];
        for (setting, share) in shares {
            if !(share > 0.0 && share <= 1.0) {
                return refuse(setting, format!("it is {share}, and must be above 0 and at most 1"));
            }
        }
        for (setting, seconds) in [("summary_timeout", self.summary_timeout), ("time_limit", self.time_limit)] {
            if !(seconds > 0.0 && seconds <= LONGEST_TIMEOUT) {
                let problem = format!("it is {seconds}, and must be above 0 and at most {LONGEST_TIMEOUT} seconds");
                return refuse(setting, problem);
            }
        }
        let mut seen = self.stages.clone();
        seen.sort_unstable();
        seen.dedup();
        if self.stages.is_empty() || seen.len() != self.stages.len() {
            return refuse("stages", "name at least one stage, and each at most once".to_owned());
        }
        if self.levels.is_empty() {
            return refuse("levels", "a ladder has at least one level".to_owned());
        }
        for (index, level) in self.levels.iter().enumerate() {
            if let Some(stage) = level.stages.iter().find(|stage| !self.stages.contains(stage)) {
                let problem = format!("levels[{index}] runs {}, which is none of `stages`", stage.name());
                return refuse("levels", problem);
            }
            if let Some((name, share)) = level.shares().into_iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
                return refuse("levels", format!("levels[{index}].{name} is {share}, and must be from 0 to 1"));
            }
        }
        Ok(self)
    }
}
