//! A tool call and its result stay together.
//!
//! Anthropic rejects a `tool_result` whose `tool_use` is not in the message before it, and a `tool_use` that the next
//! message does not answer (<https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use>);
//! Bedrock Converse passes the same rules on. Parallel calls are answered together, in one message. Gemini's calls need
//! no ids: its results follow in the order of the calls (<https://ai.google.dev/gemini-api/docs/function-calling>), and
//! place and tool say which one a result answers.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;

use super::ties::Bound;
use super::{CutPoints, Violation};
use crate::message::{Conversation, Part, Role, Text};

/// A tool call and where its result is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSite {
    /// Message of the call.
    pub message: usize,
    /// Block of the call in its message.
    pub part: usize,
    /// Message and block of its result; `None` for a call that waits.
    pub result: Option<(usize, usize)>,
    /// What it waits for, while it has none.
    pub awaits: Awaits,
}

/// What a call without a result waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaits {
    /// Its result, without which no provider goes on.
    Result,
    /// A person's approval, or the tool that was approved: no fault until the conversation goes on without either.
    Approval,
}

/// Every call of a conversation, matched with its result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pairs {
    calls: Vec<CallSite>,
    orphans: Vec<(usize, usize)>,
    repeated: Vec<(usize, usize)>,
    /// Messages that are bound together though no call and its result do it, the later ones behind.
    bonds: Vec<(usize, usize)>,
}

/// Calls that wait for their results: message by message, oldest first.
#[derive(Default)]
struct Waiting(Vec<(usize, VecDeque<usize>)>);

impl Waiting {
    fn push(&mut self, message: usize, call: usize) {
        match self.0.last_mut() {
            Some((of, calls)) if *of == message => calls.push_back(call),
            _ => self.0.push((message, VecDeque::from([call]))),
        }
    }

    /// Takes the oldest open call of the newest message that has one. A call may wait in two places, and is passed over
    /// where it was answered from the other: every call is looked at once in each.
    fn take(&mut self, calls: &[CallSite]) -> Option<usize> {
        while let Some((_, waiting)) = self.0.last_mut() {
            while let Some(call) = waiting.pop_front() {
                if calls[call].result.is_none() {
                    return Some(call);
                }
            }
            self.0.pop();
        }
        None
    }
}

/// The calls that are not answered yet, for results without an id: first those without one, then those with, since Google's own SDK answers
/// calls that have an id with results that have none.
#[derive(Default)]
struct ByPlace<'a> {
    bare: Open<'a>,
    named: Open<'a>,
}

#[derive(Default)]
struct Open<'a> {
    of_tool: HashMap<&'a str, Waiting, RandomState>,
    of_any: Waiting,
}

impl<'a> ByPlace<'a> {
    fn of<T: Text>(conversation: &'a Conversation<T>, calls: &[CallSite]) -> ByPlace<'a> {
        let mut open = ByPlace::default();
        for (index, call) in calls.iter().enumerate().filter(|(_, call)| call.result.is_none()) {
            if let Part::Call { id, name, .. } = &conversation.messages[call.message].parts[call.part] {
                open.push(id, name, call.message, index);
            }
        }
        open
    }

    fn push(&mut self, id: &str, tool: &'a str, message: usize, call: usize) {
        let open = if id.is_empty() { &mut self.bare } else { &mut self.named };
        open.of_tool.entry(tool).or_default().push(message, call);
        open.of_any.push(message, call);
    }

    fn take(&mut self, tool: Option<&str>, calls: &[CallSite]) -> Option<usize> {
        [&mut self.bare, &mut self.named].into_iter().find_map(|open| match tool {
            Some(tool) => open.of_tool.get_mut(tool)?.take(calls),
            None => open.of_any.take(calls),
        })
    }
}

impl Pairs {
    /// Matches calls and results by id: a result belongs to the newest call with its id that is not answered yet, so
    /// an id that is used again after its answer is no mistake. A result without an id belongs to a call without one:
    /// to the oldest open call of its tool in the newest message that has such calls, of any tool where it names none.
    /// O(parts).
    pub fn of<T: Text>(conversation: &Conversation<T>) -> Pairs {
        let mut pairs = Pairs::default();
        // Made when the first result without an id comes.
        let mut by_place: Option<ByPlace<'_>> = None;
        // The newest open call of each id, and for each call the older open one of the same id.
        let mut newest: HashMap<&str, usize, RandomState> = HashMap::default();
        let mut older: Vec<Option<usize>> = Vec::new();
        let mut bound = Bound::default();
        for (message, content) in conversation.messages.iter().enumerate() {
            bound.enter(message, content.role);
            let mut ties = content.ties.iter().peekable();
            for (part, block) in content.parts.iter().enumerate() {
                while let Some((_, tie)) = ties.next_if(|(at, _)| *at == part) {
                    bound.see(message, tie, |id| newest.get(id).copied());
                }
                match block {
                    Part::Call { id, name, .. } => {
                        let call = pairs.calls.len();
                        let mut waiting = None;
                        if !id.is_empty() {
                            waiting = newest.insert(id, call);
                            let same = |other: usize| {
                                pairs.calls[other].message == message && pairs.calls[other].result.is_none()
                            };
                            if waiting.is_some_and(same) {
                                pairs.repeated.push((message, part));
                            }
                        }
                        older.push(waiting);
                        if let Some(by_place) = &mut by_place {
                            by_place.push(id, name, message, call);
                        }
                        pairs.calls.push(CallSite { message, part, result: None, awaits: Awaits::Result });
                    }
                    Part::Result { id, tool, .. } if id.is_empty() => {
                        let by_place = by_place.get_or_insert_with(|| ByPlace::of(conversation, &pairs.calls));
                        match by_place.take(tool.as_deref(), &pairs.calls) {
                            Some(call) => pairs.calls[call].result = Some((message, part)),
                            None => pairs.orphans.push((message, part)),
                        }
                    }
                    Part::Result { id, .. } => {
                        let mut found = newest.remove(&**id);
                        // One may have been answered without its id.
                        while let Some(call) = found.filter(|call| pairs.calls[*call].result.is_some()) {
                            found = older[call];
                        }
                        match found {
                            Some(call) => {
                                pairs.calls[call].result = Some((message, part));
                                if let Some(waiting) = older[call] {
                                    newest.insert(id, waiting);
                                }
                            }
                            None if bound.is_of_stored_call(message) => {}
                            None => pairs.orphans.push((message, part)),
                        }
                    }
                    _ => {}
                }
            }
        }
        for call in bound.waiting(conversation) {
            pairs.calls[call].awaits = Awaits::Approval;
        }
        pairs.bonds = bound.into_bonds();
        pairs
    }

    /// Message and part of every result without a call.
    pub fn orphans(&self) -> &[(usize, usize)] {
        &self.orphans
    }

    /// Message and part of every call that has the id of an earlier open one of its message.
    pub fn repeated(&self) -> &[(usize, usize)] {
        &self.repeated
    }

    /// Every call, oldest first.
    pub fn calls(&self) -> &[CallSite] {
        &self.calls
    }

    /// The rules that the history breaks: a result without its call, a call that the next message does not answer (system
    /// messages in between aside), an id that two parallel calls share.
    pub fn violations<T: Text>(&self, conversation: &Conversation<T>) -> Vec<Violation> {
        let last = conversation.messages.len().saturating_sub(1);
        let orphans = self.orphans.iter().map(|&(message, part)| Violation {
            rule: "result-follows-its-call",
            message,
            part: Some(part),
            problem: format!("{} has no call before it", named(conversation, message, part)),
            remedy: "remove the result, or put its call back in front of it",
        });
        let repeated = self.repeated.iter().map(|&(message, part)| Violation {
            rule: "ids-are-unique",
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

    /// The calls that only system messages part from their results.
    pub(super) fn parted<'a, T: Text>(
        &'a self,
        conversation: &'a Conversation<T>,
    ) -> impl Iterator<Item = Violation> + 'a {
        self.late(conversation, Between::OnlySystem)
    }

    /// The calls whose results have such messages in front of them. O(messages + calls).
    fn late<'a, T: Text>(
        &'a self,
        conversation: &'a Conversation<T>,
        such: Between,
    ) -> impl Iterator<Item = Violation> + 'a {
        // How many of the messages before each speak.
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
            rule: "result-follows-its-call",
            message: call.message,
            part: Some(call.part),
            problem: format!("{} is not answered by the next message", named(conversation, call.message, call.part)),
            remedy: "put the result right behind the call",
        })
    }

    /// The results that name another tool than the call that they answer by its id, and the name of that tool.
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

    /// The same as violations: Gemini's `FunctionResponse.name` "matches `FunctionCall.name`"
    /// (<https://ai.google.dev/api/caching#FunctionResponse>), and where ids are not sent it is all that does.
    pub(super) fn misnaming<'a, T: Text>(
        &'a self,
        conversation: &'a Conversation<T>,
    ) -> impl Iterator<Item = Violation> + 'a {
        self.misnamed(conversation).map(|((message, part), name)| Violation {
            rule: "result-names-its-tool",
            message,
            part: Some(part),
            problem: format!("{} does not name the tool '{name}' that was called", named(conversation, message, part)),
            remedy: "give the result the name of the call",
        })
    }

    /// The calls of the last message that wait.
    pub(super) fn open_at_the_end<'a, T: Text>(
        &'a self,
        conversation: &'a Conversation<T>,
    ) -> impl Iterator<Item = Violation> + 'a {
        let last = conversation.messages.len().saturating_sub(1);
        self.open(conversation, move |message| message == last)
    }

    fn open<'a, T: Text>(
        &'a self,
        conversation: &'a Conversation<T>,
        of: impl Fn(usize) -> bool + 'a,
    ) -> impl Iterator<Item = Violation> + 'a {
        let waits = |call: &CallSite| call.result.is_none() && call.awaits == Awaits::Result;
        self.calls.iter().filter(move |call| waits(call) && of(call.message)).map(|call| Violation {
            rule: "call-has-its-result",
            message: call.message,
            part: Some(call.part),
            problem: format!("{} is never answered", named(conversation, call.message, call.part)),
            remedy: "add its result to the next message, or remove the call",
        })
    }

    pub(super) fn forbid(&self, cuts: &mut CutPoints) {
        // The farthest message seen so far that is bound to one before the position: no cut may fall in between.
        let mut reach = 0;
        let mut calls = self.calls.iter().peekable();
        let mut bonds = self.bonds.iter().peekable();
        for position in 1..cuts.legal.len() {
            while let Some(call) = calls.next_if(|call| call.message < position) {
                reach = reach.max(call.result.map_or(0, |(message, _)| message));
            }
            while let Some((_, message)) = bonds.next_if(|(first, _)| *first < position) {
                reach = reach.max(*message);
            }
            if reach >= position {
                cuts.forbid(position);
            }
        }
    }
}

/// What stands between a call and its late result.
#[derive(Debug, Clone, Copy)]
enum Between {
    /// Messages of the user or the model, whatever else.
    Speakers,
    /// System messages, and nothing else.
    OnlySystem,
}

/// A call or a result in words.
fn named<T: Text>(conversation: &Conversation<T>, message: usize, part: usize) -> String {
    match &conversation.messages[message].parts[part] {
        Part::Call { id, name, .. } if id.is_empty() => format!("the call of '{}'", &**name),
        Part::Call { id, .. } => format!("the tool call '{}'", &**id),
        Part::Result { id, tool: Some(tool), .. } if id.is_empty() => format!("the result of '{}'", &**tool),
        Part::Result { id, .. } if id.is_empty() => "a tool result without an id".to_owned(),
        Part::Result { id, .. } => format!("the tool result '{}'", &**id),
        _ => String::new(), // OK because sites are only made from those two kinds.
    }
}
