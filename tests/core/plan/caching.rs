//! While the provider answers from its prompt cache, compactions come later and must pay back.

use crate::support::{
    Message, ask_window, compact_in_window, engine, exact, fresh_count, render, small_policy, undigested,
};
use ullage::economics::{Account, Removal, SentRequest};
use ullage::engine::{Engine, Past, Room};
use ullage::message::Role;
use ullage::planner::{Plan, Urgency};
use ullage::policy::Policy;
use ullage::store::Storing;
use ullage::wire::Format;

const WINDOW: usize = 10_000;

/// Requests after which a session has cost so much that it may risk a compaction.
const LONG: usize = 200;

/// A talk that takes at least so many hundredths of the window, and hardly more.
fn talk(share: usize) -> serde_json::Value {
    let mut messages = vec![Message::text("user", "go")];
    loop {
        let input = render(&messages, Format::Bedrock);
        if fresh_count(&input, Format::Bedrock, &exact()) >= WINDOW * share / 100 {
            return input;
        }
        messages.push(Message::text("assistant", &format!("{}{}", messages.len(), " word".repeat(60))));
        messages.push(Message::text("user", "go on"));
    }
}

fn policy() -> Policy {
    Policy { window: WINDOW, reserve_output: 1, high: 0.8, low: 0.4, ..undigested() }
}

fn plan(engine: &Engine, input: &serde_json::Value) -> Plan {
    compact_in_window(engine, input, Format::Bedrock, Urgency::Soft).expect("it fits").plan
}

/// Tells `engine` how the last `requests` of `input` were answered.
fn answered(engine: &Engine, input: &serde_json::Value, cached: usize, requests: usize) {
    let reading = engine.read(&input, Some(Format::Bedrock), &[]).expect("it reads");
    let beginning = ullage::ledger::Ledger::new(exact()).now().measure(&reading.conversation).beginning();
    let sent =
        SentRequest { prompt: WINDOW, messages: WINDOW, before: 0, cached: Some(cached), removal: Removal::default() };
    for _ in 0..requests {
        engine.answered(beginning, sent);
    }
}

#[test]
fn a_cached_prompt_is_compacted_later_and_at_the_ceiling_at_the_latest() {
    let (at_85, at_95) = (talk(84), talk(94));
    let policy = Policy { pay_back_within: 1_000, ..policy() };
    let engine = engine(&policy, &exact(), Storing::Off);
    assert!(!plan(&engine, &at_85).edits.is_empty(), "no cache is known of");
    answered(&engine, &at_85, WINDOW, LONG);
    assert!(plan(&engine, &at_85).edits.is_empty(), "the high mark is at 90 % now");
    assert!(!plan(&engine, &at_95).edits.is_empty(), "and no higher");
    answered(&engine, &at_85, WINDOW / 4, 1);
    assert!(plan(&engine, &at_85).edits.is_empty(), "after a pause the provider caches the prompt again");
    answered(&engine, &at_85, WINDOW / 4, 1);
    assert!(!plan(&engine, &at_85).edits.is_empty(), "two prompts were written again");
    assert!(
        !plan(&crate::support::engine(&Policy { ceiling: 0.8, ..policy }, &exact(), Storing::Off), &at_85)
            .edits
            .is_empty()
    );
}

#[test]
fn a_compaction_that_does_not_pay_back_waits_until_it_must() {
    let engine = engine(&Policy { pay_back_within: 0, ..policy() }, &exact(), Storing::Off);
    let (at_95, at_105) = (talk(94), talk(105));
    answered(&engine, &at_95, WINDOW, LONG);
    let waits = plan(&engine, &at_95);
    assert!(waits.edits.is_empty() && waits.tokens_after == waits.tokens_before);
    assert!(waits.warnings[0].contains("pay back only after"), "{:?}", waits.warnings);
    assert!(!plan(&engine, &at_105).edits.is_empty(), "it does not fit otherwise");
    let hard = compact_in_window(&engine, &at_95, Format::Bedrock, Urgency::Hard).unwrap();
    assert!(!hard.plan.edits.is_empty(), "who asks for it gets it");
}

#[test]
fn a_compaction_that_waits_is_considered_again_when_the_messages_have_become_fewer() {
    let engine = engine(&Policy { pay_back_within: 0, ..policy() }, &exact(), Storing::Off);
    let at_95 = talk(94);
    let reading = engine.read(&&at_95, Some(Format::Bedrock), &[]).unwrap();
    let is_due = || engine.nothing_due(&reading, Room::default()).unwrap().is_none();
    answered(&engine, &at_95, WINDOW, LONG);
    engine.postponed(&plan(&engine, &at_95));
    assert!(!is_due(), "it waits");
    answered(&engine, &at_95, WINDOW, 1);
    assert!(!is_due(), "the messages have become more");
    let beginning = ullage::ledger::Ledger::new(exact()).now().measure(&reading.conversation).beginning();
    let (prompt, removal) = (WINDOW / 2, Removal::default());
    engine.answered(beginning, SentRequest { prompt, messages: prompt, before: 0, cached: Some(prompt), removal });
    assert!(is_due(), "a summary from the background or the host has made them fewer");
}

#[test]
fn a_compaction_that_the_session_has_not_earned_waits_until_it_must() {
    let engine = engine(&policy(), &exact(), Storing::Off);
    let at_95 = talk(94);
    answered(&engine, &at_95, WINDOW, 2);
    let waits = plan(&engine, &at_95);
    assert!(waits.edits.is_empty());
    assert!(waits.warnings[0].contains("has not saved as much as it may lose"), "{:?}", waits.warnings);
    answered(&engine, &at_95, WINDOW, LONG);
    assert!(!plan(&engine, &at_95).edits.is_empty(), "a long session may risk it");
}

#[test]
fn a_compaction_that_does_not_pay_back_before_the_window_is_full_waits_for_that() {
    let engine = engine(&policy(), &exact(), Storing::Off);
    let at_95 = talk(94);
    let reading = engine.read(&&at_95, Some(Format::Bedrock), &[]).unwrap();
    let beginning = ullage::ledger::Ledger::new(exact()).now().measure(&reading.conversation).beginning();
    for request in 0..LONG {
        let prompt = WINDOW * (request + 1);
        let cached = Some(WINDOW * request);
        engine.answered(
            beginning,
            SentRequest { prompt, messages: prompt, before: 0, cached, removal: Removal::default() },
        );
    }
    let waits = plan(&engine, &at_95);
    assert!(waits.edits.is_empty());
    assert!(waits.warnings[0].contains("the window is full after about 0"), "{:?}", waits.warnings);
}

#[test]
fn the_requests_of_a_view_follow_from_its_history() {
    let talk = talk(50);
    let engine = engine(&policy(), &exact(), Storing::Off);
    let reading = engine.read(&&talk, Some(Format::Bedrock), &[]).unwrap();
    let tokens = ullage::ledger::Ledger::new(exact()).now().measure(&reading.conversation);
    let mut expected = Account::default();
    let (mut messages, fixed) = (0, 300);
    for (index, message) in reading.conversation.messages.iter().enumerate() {
        if message.role == Role::Assistant {
            let prompt = messages + fixed;
            expected.add(SentRequest { prompt, messages, before: 0, cached: None, removal: Removal::default() });
        }
        messages += tokens.message(index);
    }
    let account = Past::default().until_now(&reading.conversation, &tokens, fixed);
    assert_eq!(account, expected);
    assert!(account.savings.requests > 10);
    let rest = Past { account, removed: 0, entries: reading.conversation.messages.len() };
    assert_eq!(rest.until_now(&reading.conversation, &tokens, fixed), account, "no request counts twice");
}

#[test]
fn a_plan_says_what_it_has_cached_again() {
    let engine = engine(&small_policy(), &exact(), Storing::On);
    let mut messages = vec![Message::text("user", "go")];
    for turn in 0..30 {
        let id = format!("c{turn}");
        messages.extend([Message::call(&id, "bash"), Message::result(&id, &format!("line {turn}\n").repeat(400))]);
    }
    let input = render(&messages, Format::Bedrock);
    let reading = engine.read(&&input, Some(Format::Bedrock), &[]).unwrap();
    let plan = engine.plan(&reading, ask_window(Urgency::Hard)).unwrap();
    assert_eq!(plan.unchanged + plan.rewritten(), plan.tokens_after);
    assert_eq!(plan.report().rewritten, plan.rewritten());
    assert!(plan.rewritten() > 0);
}
