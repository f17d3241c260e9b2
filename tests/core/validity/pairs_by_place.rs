//! Calls and results without ids belong together by their place and their tool.

use proptest::collection::vec;
use proptest::prelude::*;
use ullage::invariants::{Awaits, CallSite, CutPoints, Pairs};
use ullage::message::{Conversation, Message, Outcome, Part, Pin, Role, Span};

const TOOLS: [&str; 3] = ["read_file", "bash", "grep"];

fn call(id: &str, tool: &str) -> Part<String> {
    Part::Call { id: id.to_owned(), name: tool.to_owned(), input: String::new() }
}

fn result(id: &str, tool: Option<&str>) -> Part<String> {
    Part::Result { id: id.to_owned(), tool: tool.map(str::to_owned), outcome: Outcome::Unknown, items: vec![] }
}

fn words() -> Part<String> {
    Part::Text("words".to_owned())
}

fn conversation(messages: Vec<(Role, Vec<Part<String>>)>) -> Conversation<String> {
    let numbered = messages.into_iter().enumerate();
    let message = |(index, (role, parts))| Message { span: Span::of(index), role, parts, pin: Pin::Free, ties: vec![] };
    Conversation { messages: numbered.map(message).collect() }
}

/// The result of each call, in their order.
fn results(conversation: &Conversation<String>) -> Vec<Option<(usize, usize)>> {
    Pairs::of(conversation).calls().iter().map(|call| call.result).collect()
}

fn problems(conversation: &Conversation<String>) -> Vec<String> {
    Pairs::of(conversation).violations(conversation).into_iter().map(|violation| violation.problem).collect()
}

#[test]
fn parallel_calls_of_one_tool_are_answered_in_their_order() {
    let talk = conversation(vec![
        (Role::Assistant, vec![call("", "bash"), call("", "grep"), call("", "bash")]),
        (Role::User, vec![result("", Some("bash")), result("", Some("bash")), result("", Some("grep"))]),
    ]);
    assert_eq!(results(&talk), [Some((1, 0)), Some((1, 2)), Some((1, 1))]);
    assert_eq!(problems(&talk), [""; 0]);
}

#[test]
fn a_result_that_names_no_tool_answers_the_oldest_call_of_any() {
    let talk = conversation(vec![
        (Role::Assistant, vec![call("", "bash"), call("", "grep"), call("", "bash")]),
        (Role::User, vec![result("", Some("grep")), result("", None), result("", None)]),
    ]);
    assert_eq!(results(&talk), [Some((1, 1)), Some((1, 0)), Some((1, 2))]);
}

#[test]
fn a_result_answers_the_nearest_message_that_has_such_calls() {
    let talk = conversation(vec![
        (Role::Assistant, vec![call("", "bash"), call("", "bash")]),
        (Role::User, vec![words()]),
        (Role::Assistant, vec![call("", "bash"), call("", "grep")]),
        (Role::User, vec![result("", Some("bash")), result("", Some("bash")), result("", Some("grep"))]),
    ]);
    assert_eq!(results(&talk), [Some((3, 1)), None, Some((3, 0)), Some((3, 2))]);
}

#[test]
fn ids_go_before_places() {
    let talk = conversation(vec![
        (Role::Assistant, vec![call("a", "bash"), call("", "bash"), call("b", "bash")]),
        (Role::User, vec![result("", Some("bash")), result("b", None), result("a", Some("bash"))]),
        (Role::Assistant, vec![call("c", "bash")]),
        (Role::User, vec![result("", Some("bash"))]),
    ]);
    assert_eq!(results(&talk), [Some((1, 2)), Some((1, 0)), Some((1, 1)), Some((3, 0))]);
    // As Google's own SDK answers calls that have ids.
    assert_eq!(problems(&talk), [""; 0]);
}

#[test]
fn what_has_no_id_is_called_by_its_tool() {
    let talk = conversation(vec![
        (Role::User, vec![words()]),
        (Role::User, vec![result("", None)]),
        (Role::User, vec![result("", Some("grep"))]),
        (Role::Assistant, vec![call("", "read_file"), call("", "bash")]),
        (Role::User, vec![result("", Some("bash"))]),
        (Role::Assistant, vec![call("", "grep"), call("", "grep")]),
        (Role::User, vec![words()]),
        (Role::User, vec![result("", Some("grep")), result("", Some("grep"))]),
    ]);
    assert_eq!(
        problems(&talk),
        [
            "a tool result without an id has no call before it",
            "the result of 'grep' has no call before it",
            "the call of 'read_file' is never answered",
            "the call of 'grep' is not answered by the next message",
            "the call of 'grep' is not answered by the next message",
        ]
    );
}

/// Matching that looked at every open call again would not end here within any patience.
#[test]
fn a_long_history_of_open_calls_is_matched_in_one_pass() {
    const CALLS: usize = 300_000;
    let mut messages: Vec<_> = (0..CALLS).map(|n| (Role::Assistant, vec![call("", TOOLS[n % 3])])).collect();
    // Those of one tool leave what they answered behind among the calls of any.
    messages.push((Role::User, vec![result("", Some("bash")); CALLS]));
    messages.extend((0..CALLS).map(|_| (Role::User, vec![result("", None)])));
    let talk = conversation(messages);
    let pairs = Pairs::of(&talk);
    assert!(pairs.calls().iter().all(|call| call.result.is_some()));
    assert_eq!(pairs.violations(&talk).iter().filter(|v| v.problem.contains("no call before it")).count(), CALLS);
}

/// The rule as it is written, word for word, at the price of looking at everything each time.
fn by_the_rule(talk: &Conversation<String>) -> Vec<CallSite> {
    let mut calls: Vec<(CallSite, &str, &str)> = Vec::new();
    for (message, content) in talk.messages.iter().enumerate() {
        for (part, block) in content.parts.iter().enumerate() {
            match block {
                Part::Call { id, name, .. } => {
                    calls.push((CallSite { message, part, result: None, awaits: Awaits::Result }, id, name));
                }
                Part::Result { id, tool, .. } => {
                    let open = |(site, _, name): &(CallSite, &str, &str)| {
                        let same_tool = !id.is_empty() || tool.as_deref().is_none_or(|tool| tool == *name);
                        site.result.is_none() && same_tool
                    };
                    let any_bare = calls.iter().any(|call| open(call) && call.1.is_empty());
                    let fits =
                        |call: &(CallSite, &str, &str)| open(call) && (call.1 == id || id.is_empty() && !any_bare);
                    let found = if id.is_empty() {
                        let nearest = calls.iter().rev().find(|call| fits(call)).map(|(site, ..)| site.message);
                        calls.iter_mut().find(|call| Some(call.0.message) == nearest && fits(call))
                    } else {
                        calls.iter_mut().rev().find(|call| fits(call))
                    };
                    if let Some((site, ..)) = found {
                        site.result = Some((message, part));
                    }
                }
                _ => {}
            }
        }
    }
    calls.into_iter().map(|(site, ..)| site).collect()
}

fn any_part() -> impl Strategy<Value = Part<String>> {
    let id = prop_oneof![3 => Just(""), 1 => Just("a"), 1 => Just("b")];
    let tool = 0..TOOLS.len();
    prop_oneof![
        4 => (id.clone(), tool.clone()).prop_map(|(id, tool)| call(id, TOOLS[tool])),
        4 => (id, prop::option::weighted(0.7, tool)).prop_map(|(id, tool)| result(id, tool.map(|tool| TOOLS[tool]))),
        1 => Just(words()),
    ]
}

/// Rounds of calls and their results, valid for a provider: of each round its tools, and whether it has ids.
fn rounds() -> impl Strategy<Value = Vec<(Vec<usize>, bool)>> {
    vec((vec(0..TOOLS.len(), 0..4), any::<bool>()), 0..12)
}

/// The same history with ids, or without them where `bare` says so of a round. Results come in the order of the calls.
fn loops(rounds: &[(Vec<usize>, bool)], bare: impl Fn(bool) -> bool) -> Conversation<String> {
    let mut messages = vec![(Role::User, vec![words()])];
    for (number, (tools, has_ids)) in rounds.iter().enumerate() {
        let id = |at: usize| if bare(*has_ids) { String::new() } else { format!("{number}-{at}") };
        let each = || tools.iter().enumerate();
        messages.push((Role::Assistant, each().map(|(at, tool)| call(&id(at), TOOLS[*tool])).collect()));
        messages.push((Role::User, each().map(|(at, tool)| result(&id(at), Some(TOOLS[*tool]))).collect()));
    }
    conversation(messages)
}

proptest! {
    #[test]
    fn matching_keeps_the_rule_in_any_history(messages in vec(vec(any_part(), 0..5), 0..12)) {
        let talk = conversation(messages.into_iter().map(|parts| (Role::User, parts)).collect());
        let pairs = Pairs::of(&talk);
        prop_assert_eq!(pairs.calls(), by_the_rule(&talk));
        // Nothing is answered twice, and what is not answered or answers nothing is told.
        let mut answered: Vec<_> = pairs.calls().iter().filter_map(|call| call.result).collect();
        let results = talk.messages.iter().flat_map(|message| &message.parts);
        let results = results.filter(|part| matches!(part, Part::Result { .. })).count();
        let orphans = pairs.violations(&talk).iter().filter(|v| v.problem.contains("no call before it")).count();
        prop_assert_eq!(answered.len() + orphans, results);
        answered.sort_unstable();
        answered.dedup();
        prop_assert_eq!(answered.len() + orphans, results);
    }

    #[test]
    fn a_valid_history_is_matched_alike_with_ids_without_them_and_mixed(rounds in rounds()) {
        let with_ids = loops(&rounds, |_| false);
        let (pairs, cuts) = (Pairs::of(&with_ids), CutPoints::of(&with_ids, &Pairs::of(&with_ids)));
        for other in [loops(&rounds, |_| true), loops(&rounds, |has_ids| !has_ids)] {
            let matched = Pairs::of(&other);
            prop_assert_eq!(&matched, &pairs);
            prop_assert_eq!(matched.violations(&other), vec![]);
            prop_assert_eq!(&CutPoints::of(&other, &matched), &cuts);
        }
    }
}
