//! Selects the places at which a recorded session is cut.

use crate::ledger::Measured;
use crate::message::{Conversation, Role};

/// The rules for cutting a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutRules {
    /// Minimum tokens of history at the first cut. Each further cut is a quarter of that later.
    pub tokens: usize,
    /// Maximum number of cuts in one session. Adjacent cuts measure much the same.
    pub most: usize,
    /// Minimum number of messages after each cut. Fewer messages need too little to measure.
    pub least_after: usize,
}

impl CutRules {
    /// Cuts from this many tokens of history on: at most 4, each with at least 20 messages after it.
    pub fn at(tokens: usize) -> CutRules {
        CutRules { tokens, most: 4, least_after: 20 }
    }
}

/// Returns the messages before which the session is cut. They are messages of the model, because a compaction would
/// have changed the request that they answer. O(messages).
pub fn cuts<T>(conversation: &Conversation<T>, measured: &Measured, cutting: CutRules) -> Vec<usize> {
    let step = (cutting.tokens / 4).max(1);
    let (mut cuts, mut wanted, mut tokens) = (Vec::new(), cutting.tokens, 0);
    for (index, message) in conversation.messages.iter().enumerate() {
        if cuts.len() == cutting.most || conversation.messages.len() - index < cutting.least_after {
            break;
        }
        if message.role == Role::Assistant && index > 0 && tokens >= wanted {
            cuts.push(index);
            // A long message may have passed several marks.
            wanted += ((tokens - wanted) / step + 1) * step;
        }
        tokens += measured.message(index);
    }
    cuts
}
