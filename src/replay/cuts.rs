//! Selects the places at which a recorded session is cut.

use crate::ledger::Measured;
use crate::message::{Conversation, Role};

/// The rules for cutting a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutRules {
    /// Tokens of history at the first cut, at least; each further cut is a quarter of it later.
    pub tokens: usize,
    /// Cuts in one session at most: neighbouring ones measure much the same.
    pub most: usize,
    /// Messages that follow each cut at least: fewer need too little to measure by.
    pub least_after: usize,
}

impl CutRules {
    /// Cuts from so many tokens of history on: at most 4, each with 20 messages or more after it.
    pub fn at(tokens: usize) -> CutRules {
        CutRules { tokens, most: 4, least_after: 20 }
    }
}

/// The messages before which the session is cut: those of the model, for the request that it answers is what a
/// compaction would have changed. O(messages).
pub fn cuts<T>(conversation: &Conversation<T>, measured: &Measured, cutting: CutRules) -> Vec<usize> {
    let step = (cutting.tokens / 4).max(1);
    let (mut cuts, mut wanted, mut tokens) = (Vec::new(), cutting.tokens, 0);
    for (index, message) in conversation.messages.iter().enumerate() {
        if cuts.len() == cutting.most || conversation.messages.len() - index < cutting.least_after {
            break;
        }
        if message.role == Role::Assistant && index > 0 && tokens >= wanted {
            cuts.push(index);
            // A long message may have gone past several.
            wanted += ((tokens - wanted) / step + 1) * step;
        }
        tokens += measured.message(index);
    }
    cuts
}
