//! The number of tokens that messages may take, and the marks at which to act.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::numbers::{share, thousands};
use crate::policy::Policy;

/// Tokens that the messages may take, with the marks at which compaction starts and to which it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// The most that the messages may take.
    pub limit: usize,
    /// A compaction starts above this.
    pub high: usize,
    /// A compaction goes down to this.
    pub low: usize,
    /// The next level of the ladder is tried above this.
    pub escalate: usize,
    /// Tokens of the window kept free because the provider's reports are higher than the known tokens.
    pub learned: usize,
}

/// The provider's reports can take at most this share of the window less the reserve. Even wrong reports then leave
/// room to work in. A caller with larger tools passes them as an argument.
const LEARNED_SHARE: f64 = 0.75;

/// A due compaction saves at least this share of the tokens, or the report says why not. After a smaller saving the
/// next compaction would soon be due, and each compaction makes the provider's prompt cache useless.
pub const PROGRESS: f64 = 0.15;

/// A smaller budget has the low mark of a budget of this size, up to [`MOST_LOW`]. The account of removed messages
/// takes about as much room in a small budget as in a larger one.
const SMALL: usize = 10_000;

/// The upper bound of that low mark, as a share of the high mark. A compaction must leave room to work in.
const MOST_LOW: f64 = 0.6;

impl Budget {
    /// Returns the budget that the policy's window leaves: `window - reserve_output - fixed`. `fixed` counts the system
    /// prompt and the tool definitions. If the provider's reports show more tokens beside the messages, their count
    /// replaces `fixed`, up to three quarters of `window - reserve_output`.
    ///
    /// # Errors
    /// `NoRoom` if nothing is left.
    pub fn of(policy: &Policy, fixed: usize, reported: usize) -> Result<Budget> {
        let room = policy.window.saturating_sub(policy.reserve_output);
        let learned = reported.min(share(room, LEARNED_SHARE)).saturating_sub(fixed);
        let limit = room.saturating_sub(fixed).saturating_sub(learned);
        if limit == 0 {
            return Err(Error::NoRoom {
                taken: fixed.saturating_add(policy.reserve_output),
                problem: format!(
                    "the system prompt and the tools take {} tokens, and {} are reserved for the answer: nothing is \
                     left of a window of {}",
                    thousands(fixed),
                    thousands(policy.reserve_output),
                    thousands(policy.window)
                ),
                remedy: "shorten the system prompt and the tools, lower `reserve_output` or raise `window`".to_owned(),
            });
        }
        Ok(Budget { learned, ..Budget::with_marks(limit, policy) })
    }

    /// Returns the budget for a limit from the caller, for the messages alone. A compaction starts above the whole
    /// limit.
    ///
    /// # Errors
    /// `NoRoom` if the limit is zero.
    pub fn of_limit(limit: usize, policy: &Policy) -> Result<Budget> {
        if limit == 0 {
            return Err(Error::NoRoom {
                taken: 0,
                problem: "the budget has room for no message".to_owned(),
                remedy: "give a budget of at least 1 token".to_owned(),
            });
        }
        // The caller asked for this size, so a smaller conversation needs no compaction.
        Ok(Budget { high: limit, escalate: limit, ..Budget::with_marks(limit, policy) })
    }

    /// Returns the budget for the time in which the provider's prompt cache is warm. A compaction starts later, by
    /// `cache_relax` of the limit, but at `ceiling` of the limit at the latest.
    #[must_use]
    pub fn relaxed(self, policy: &Policy) -> Budget {
        let high = share(self.limit, (policy.high + policy.cache_relax).min(policy.ceiling));
        Budget { high: self.high.max(high), ..self }
    }

    /// Returns the budget with a lower limit, and the marks of that limit.
    #[must_use]
    pub fn limited(self, limit: usize, policy: &Policy) -> Budget {
        Budget { learned: self.learned, ..Budget::with_marks(limit, policy) }
    }

    /// Returns the budget with its limit and marks lower by `tokens`.
    #[must_use]
    pub fn reduced_by(self, tokens: usize) -> Budget {
        let less = |mark: usize| mark.saturating_sub(tokens);
        Budget {
            limit: less(self.limit),
            high: less(self.high),
            low: less(self.low),
            escalate: less(self.escalate),
            ..self
        }
    }

    /// Returns the budget with its whole size as the target, for a caller who names a size and compacts now.
    #[must_use]
    pub fn filled(self) -> Budget {
        Budget { low: self.limit, ..self }
    }

    /// Returns the budget for a limit, with its marks. A larger limit never has a lower mark.
    fn with_marks(limit: usize, policy: &Policy) -> Budget {
        let high = share(limit, policy.high);
        let small = share(SMALL, policy.low).min(share(high, MOST_LOW));
        let low = share(limit, policy.low).max(small).min(progressed(high));
        let escalate = share(limit, policy.escalate.unwrap_or(policy.high)).max(low);
        Budget { limit, high, low, escalate, learned: 0 }
    }
}

/// Returns the largest size after a compaction of `total` tokens that makes [`PROGRESS`].
pub fn progressed(total: usize) -> usize {
    total - share(total, PROGRESS)
}
