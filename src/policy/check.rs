//! Checks that the settings of a policy are in range and agree with each other.

use std::fmt::Display;

use super::{Policy, StageName};
use crate::error::{Error, Result, SettingProblem};

/// The longest timeout in seconds: a day. Threads cannot wait for arbitrary times.
const LONGEST_TIMEOUT: f64 = 86_400.0;

impl Policy {
    /// Returns the policy, if its settings are in range and consistent.
    ///
    /// # Errors
    /// `Settings` with every wrong setting.
    pub fn checked(self) -> Result<Policy> {
        self.without_problems(Vec::new())
    }

    /// Returns the policy, if there are no `problems` and a check finds no others.
    pub(super) fn without_problems(self, problems: Vec<SettingProblem>) -> Result<Policy> {
        let mut check = Check { problems };
        self.check_sizes(&mut check);
        self.check_shares(&mut check);
        self.check_ladder(&mut check);
        if check.problems.is_empty() { Ok(self) } else { Err(Error::Settings { problems: check.problems }) }
    }

    fn check_sizes(&self, check: &mut Check) {
        let sizes = [
            ("window", self.window),
            ("compress_to", self.compress_to),
            ("summary_tokens", self.summary_tokens),
            ("summary_input", self.summary_input),
        ];
        for (setting, tokens) in sizes {
            check.require(tokens > 0, setting, "be at least 1 token", tokens);
        }
        if check.is_fine("window") {
            let must = format!("be below `window` ({})", self.window);
            check.require(self.reserve_output < self.window, "reserve_output", &must, self.reserve_output);
        }
        let left = [
            ("shrink_to", self.shrink_to, "shrink_above", self.shrink_above),
            ("offload_preview", self.offload_preview, "offload_above", self.offload_above),
        ];
        for (setting, tokens, larger, most) in left {
            if check.is_fine(larger) {
                let must = format!("be from 1 to `{larger}` ({most})");
                check.require((1..=most).contains(&tokens), setting, &must, tokens);
            }
        }
        for (setting, seconds) in [("summary_timeout", self.summary_timeout), ("time_limit", self.time_limit)] {
            let must = format!("be above 0 and at most {LONGEST_TIMEOUT} seconds");
            check.require(seconds > 0.0 && seconds <= LONGEST_TIMEOUT, setting, &must, seconds);
        }
    }

    fn check_shares(&self, check: &mut Check) {
        let above_nothing = [
            ("high", self.high),
            ("escalate", self.escalate.unwrap_or(1.0)),
            ("ceiling", self.ceiling),
            ("low_messages", self.low_messages),
            ("summary_ratio", self.summary_ratio),
            ("summary_ahead", self.summary_ahead),
        ];
        for (setting, share) in above_nothing {
            check.require(share > 0.0 && share <= 1.0, setting, "be above 0 and at most 1", share);
        }
        for (setting, share) in [("cache_relax", self.cache_relax), ("keep_recent_share", self.keep_recent_share)] {
            check.require((0.0..=1.0).contains(&share), setting, "be from 0 to 1", share);
        }
        if check.is_fine("high") {
            let must = format!("be above 0 and at most `high` ({})", self.high);
            check.require(self.low > 0.0 && self.low <= self.high, "low", &must, self.low);
        } else {
            check.require(self.low > 0.0 && self.low <= 1.0, "low", "be above 0 and at most 1", self.low);
        }
    }

    fn check_ladder(&self, check: &mut Check) {
        let mut seen = self.stages.clone();
        seen.sort_unstable();
        seen.dedup();
        let is_list = !self.stages.is_empty() && seen.len() == self.stages.len();
        let stages: Vec<&str> = self.stages.iter().map(|stage| stage.name()).collect();
        let stages = format!("[{}]", stages.join(", "));
        check.require(is_list, "stages", "name at least one stage, and each at most once", &stages);
        let runs = |stage: &StageName| self.stages.contains(stage);
        let stages_are_known = check.is_fine("stages");
        if let Some(most) = self.max_messages {
            check.require(most > 0, "max_messages", "be at least 1 message, or null for any number", most);
            let has_window = runs(&StageName::Window) || !stages_are_known;
            check.require(has_window, "max_messages", "be null where `stages` has no `window`", most);
        }
        check.require(!self.levels.is_empty(), "levels", "have at least one level", "[]");
        for (index, level) in self.levels.iter().enumerate() {
            for (name, share) in level.shares() {
                let path = format!("levels[{index}].{name}");
                check.require((0.0..=1.0).contains(&share), &path, "be from 0 to 1", share);
            }
            if let Some(stage) = level.stages.iter().find(|stage| stages_are_known && !runs(stage)) {
                let must = format!("be among `stages` {stages}");
                check.require(false, &format!("levels[{index}].stages"), &must, stage.name());
            }
        }
    }
}

/// Collects the problems of settings. A setting has at most one, and is then not compared with others.
struct Check {
    problems: Vec<SettingProblem>,
}

impl Check {
    /// True if neither the setting, nor its container, nor anything in it has a problem.
    fn is_fine(&self, setting: &str) -> bool {
        let is_in = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        !self.problems.iter().any(|known| is_in(&known.path, setting) || is_in(setting, &known.path))
    }

    fn require(&mut self, holds: bool, path: &str, must: &str, got: impl Display) {
        if !holds && self.is_fine(path) {
            self.problems.push(SettingProblem { path: path.to_owned(), problem: format!("must {must}; got {got}") });
        }
    }
}
