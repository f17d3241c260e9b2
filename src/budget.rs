//! How many tokens the messages may take, and when to act.

use crate::error::{Error, Result};
use crate::numbers::thousands;
use crate::policy::Policy;

/// Tokens that the messages may take, with the marks at which compaction starts and to which it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The most that the messages may take.
    pub limit: usize,
    /// Above this, compaction starts.
    pub high: usize,
    /// Down to this it goes.
    pub low: usize,
}

impl Budget {
    /// What the policy's window leaves: `window - reserve_output - fixed`, where `fixed` is what the system prompt and
    /// the tool definitions take.
    ///
    /// # Errors
    /// `NoRoom` if that is nothing.
    pub fn of(policy: &Policy, fixed: usize) -> Result<Budget> {
        let limit = policy.window.saturating_sub(policy.reserve_output).saturating_sub(fixed);
        if limit == 0 {
            return Err(Error::NoRoom {
                taken: fixed.saturating_add(policy.reserve_output),
                problem: format!(
                    "what stands beside the messages takes {} tokens, and {} are reserved for the answer: nothing is \
                     left of a window of {}",
                    thousands(fixed),
                    thousands(policy.reserve_output),
                    thousands(policy.window)
                ),
                remedy: "shorten the system prompt and the tools, lower `reserve_output` or raise `window`".to_owned(),
            });
        }
        Ok(Budget::with_marks(limit, policy))
    }

    /// A budget that the caller gives, for the messages alone.
    ///
    /// # Errors
    /// `NoRoom` if it is zero.
    pub fn given(limit: usize, policy: &Policy) -> Result<Budget> {
        if limit == 0 {
            return Err(Error::NoRoom {
                taken: 0,
                problem: "a budget of 0 tokens has room for no message".to_owned(),
                remedy: "give a positive number of tokens".to_owned(),
            });
        }
        Ok(Budget::with_marks(limit, policy))
    }

    /// The same budget, its limit and marks lower by `tokens`.
    #[must_use]
    pub fn lowered(self, tokens: usize) -> Budget {
        let less = |mark: usize| mark.saturating_sub(tokens);
        Budget { limit: less(self.limit), high: less(self.high), low: less(self.low) }
    }

    // Shares of token counts stay far below 2^52, where every whole number is exact.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn with_marks(limit: usize, policy: &Policy) -> Budget {
        let share = |part: f64| (limit as f64 * part) as usize;
        Budget { limit, high: share(policy.high), low: share(policy.low) }
    }
}
