//! Maps each result to its tool.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::invariants::Pairs;
use crate::message::{Conversation, Part, Text};

/// The tool of a result whose call is not in the conversation.
const UNKNOWN_TOOL: &str = "tool";

/// The tool of each result of a conversation.
#[derive(Debug, Default)]
pub(super) struct ToolNames<'a> {
    by_result: HashMap<(usize, usize), &'a str, RandomState>,
}

impl<'a> ToolNames<'a> {
    pub(super) fn of<T: Text>(conversation: &'a Conversation<T>, pairs: &Pairs) -> ToolNames<'a> {
        let mut by_result = HashMap::with_capacity_and_hasher(pairs.calls().len(), RandomState::default());
        for call in pairs.calls() {
            let part = &conversation.messages[call.message].parts[call.part];
            if let (Some(result), Part::Call { name, .. }) = (call.result, part) {
                by_result.insert(result, &**name);
            }
        }
        ToolNames { by_result }
    }

    /// Returns the tool of the result in this part of this message.
    pub(super) fn of_result(&self, message: usize, part: usize) -> &'a str {
        self.by_result.get(&(message, part)).copied().unwrap_or(UNKNOWN_TOOL)
    }
}
