//! Describes calls and results that do not match.

use super::{Awaits, CallSite, Pairs};
use crate::error::shown;
use crate::invariants::Violation;
use crate::message::{Conversation, Part, Role, Text};

impl Pairs {
    /// Returns the broken rules: a result without its call, a call that the next message does not answer (not counting
    /// system messages), an id that two parallel calls share.
    pub fn violations<T: Text>(&self, conversation: &Conversation<T>) -> Vec<Violation> {
        let last = conversation.messages.len().saturating_sub(1);
        let orphans = self.orphans.iter().map(|&(message, part)| Violation {
            rule: "result-follows-call",
            message,
            part: Some(part),
            problem: format!("{} has no call before it", named(conversation, message, part)),
            remedy: "remove the result, or put its call back before it",
        });
        let repeated = self.repeated.iter().map(|&(message, part)| Violation {
            rule: "call-ids-unique",
            message,
            part: Some(part),
            problem: format!("{} shares its id with another call of its message", named(conversation, message, part)),
            remedy: "give each call an id of its own",
        });
        let unanswered = self.open(conversation, |message| message != last);
        let late = self.late(conversation, Between::Speakers);
        let mut violations: Vec<Violation> = orphans.chain(repeated).chain(unanswered).chain(late).collect();
        violations.sort_by_key(|violation| violation.message);
        violations
    }

    /// Returns the calls that only system messages separate from their results.
    pub(in crate::invariants) fn parted<'a, T: Text>(
        &'a self,
        conversation: &'a Conversation<T>,
    ) -> impl Iterator<Item = Violation> + 'a {
        self.late(conversation, Between::OnlySystem)
    }

    /// Returns the calls with such messages before their results. O(messages + calls).
    fn late<'a, T: Text>(
        &'a self,
        conversation: &'a Conversation<T>,
        such: Between,
    ) -> impl Iterator<Item = Violation> + 'a {
        // For each message, the number of earlier messages that are not system messages.
        let mut speakers = Vec::with_capacity(conversation.messages.len() + 1);
        speakers.push(0);
        for message in &conversation.messages {
            speakers.push(speakers[speakers.len() - 1] + usize::from(message.role != Role::System));
        }
        let late = self.calls.iter().filter(move |call| {
            let Some((result, _)) = call.result else { return false };
            let first = call.message + 1;
            let speaking = speakers[result.max(first)] - speakers[first];
            match such {
                Between::Speakers => speaking > 0,
                Between::OnlySystem => speaking == 0 && result > first,
            }
        });
        late.map(|call| Violation {
            rule: "result-follows-call",
            message: call.message,
            part: Some(call.part),
            problem: format!("{} is not answered by the next message", named(conversation, call.message, call.part)),
            remedy: "put the result right after the call",
        })
    }

    /// Returns the results that name another tool than the call with their id, and the right name.
    pub fn misnamed<'a, T: Text>(
        &'a self,
        conversation: &'a Conversation<T>,
    ) -> impl Iterator<Item = ((usize, usize), &'a str)> + 'a {
        let part = |(message, part): (usize, usize)| &conversation.messages[message].parts[part];
        self.calls.iter().filter_map(move |call| match (part((call.message, call.part)), part(call.result?)) {
            (Part::Call { name, .. }, Part::Result { tool: Some(tool), .. }) if **tool != **name => {
                Some((call.result?, &**name))
            }
            _ => None,
        })
    }

    /// Returns these as violations: Gemini's `FunctionResponse.name` "matches `FunctionCall.name`"
    /// (<https://ai.google.dev/api/caching#FunctionResponse>). Without ids, only the name can match.
    pub(in crate::invariants) fn misnaming<'a, T: Text>(
        &'a self,
        conversation: &'a Conversation<T>,
    ) -> impl Iterator<Item = Violation> + 'a {
        self.misnamed(conversation).map(|((message, part), name)| Violation {
            rule: "result-names-tool",
            message,
            part: Some(part),
            problem: format!(
                "{} does not name the tool '{}' that was called",
                named(conversation, message, part),
                shown(name)
            ),
            remedy: "give the result the name of the call",
        })
    }

    /// Returns the open calls of the last message.
    pub(in crate::invariants) fn open_at_the_end<'a, T: Text>(
        &'a self,
        conversation: &'a Conversation<T>,
    ) -> impl Iterator<Item = Violation> + 'a {
        let last = conversation.messages.len().saturating_sub(1);
        self.open(conversation, move |message| message == last)
    }

    /// Returns the violations without calls that may still be answered.
    pub fn broken<T: Text>(&self, conversation: &Conversation<T>) -> Vec<Violation> {
        let mut violations = self.violations(conversation);
        let waiting_from = waiting_from(conversation);
        violations.retain(|violation| !waits(violation, waiting_from));
        violations
    }

    fn open<'a, T: Text>(
        &'a self,
        conversation: &'a Conversation<T>,
        of: impl Fn(usize) -> bool + 'a,
    ) -> impl Iterator<Item = Violation> + 'a {
        let waits = |call: &CallSite| call.result.is_none() && call.awaits == Awaits::Result;
        self.calls.iter().filter(move |call| waits(call) && of(call.message)).map(|call| Violation {
            rule: UNANSWERED,
            message: call.message,
            part: Some(call.part),
            problem: format!("{} is never answered", named(conversation, call.message, call.part)),
            remedy: "add its result to the next message, or remove the call",
        })
    }
}

/// The rule that a call without a result breaks.
const UNANSWERED: &str = "call-has-result";

/// True if a violation is only a call that may still be answered.
pub fn waits(violation: &Violation, waiting_from: usize) -> bool {
    violation.rule == UNANSWERED && violation.message >= waiting_from
}

/// Returns the first message whose calls may still be answered: only results and system messages follow it.
pub fn waiting_from<T: Text>(conversation: &Conversation<T>) -> usize {
    let only_answers = |role: Role, parts: &[Part<T>]| {
        role == Role::System || (!parts.is_empty() && parts.iter().all(|part| matches!(part, Part::Result { .. })))
    };
    let last_word = conversation.messages.iter().rposition(|message| !only_answers(message.role, &message.parts));
    last_word.unwrap_or(0)
}

/// The messages between a call and its late result.
#[derive(Debug, Clone, Copy)]
enum Between {
    /// Messages of the user or the model, perhaps with others.
    Speakers,
    /// Only system messages.
    OnlySystem,
}

/// Returns a call or a result in words.
fn named<T: Text>(conversation: &Conversation<T>, message: usize, part: usize) -> String {
    match &conversation.messages[message].parts[part] {
        Part::Call { id, name, .. } if id.is_empty() => format!("the call of '{}'", shown(name)),
        Part::Call { id, .. } => format!("the tool call '{}'", shown(id)),
        Part::Result { id, tool: Some(tool), .. } if id.is_empty() => format!("the result of '{}'", shown(tool)),
        Part::Result { id, .. } if id.is_empty() => "a tool result without an id".to_owned(),
        Part::Result { id, .. } => format!("the tool result '{}'", shown(id)),
        _ => String::new(), // OK because sites are only made from those two kinds.
    }
}
