//! Finds reasoning of finished turns. The answer after it makes it unnecessary.

use crate::message::{Part, Text};
use crate::working_copy::WorkingCopy;

/// Returns the messages whose reasoning may be removed, oldest first. O(reasoning).
pub(super) fn find<'d, T: Text>(working_copy: &'d WorkingCopy<'_, T>) -> impl Iterator<Item = usize> + 'd {
    // Replacement characters mark bytes that cannot be restored.
    let comes_back = |(message, part): &(usize, usize)| match &working_copy.conversation.messages[*message].parts[*part]
    {
        Part::Reasoning { text, .. } => !text.contains(char::REPLACEMENT_CHARACTER),
        _ => false,
    };
    let messages = working_copy.droppable().chunk_by(|(one, _), (other, _)| one == other);
    let whole = messages.filter(move |parts| !working_copy.is_removed(parts[0].0) && parts.iter().all(comes_back));
    whole.map(|parts| parts[0].0)
}
