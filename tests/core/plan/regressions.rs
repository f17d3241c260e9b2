//! Single cases in which a promise about budgets was once broken, or nearly.

use std::sync::Arc;

use crate::support::{Block, Item, Message, compact, engine, estimate, exact, fresh_count, render, small_policy};
use serde_json::json;
use ullage::error::Error;
use ullage::planner::Urgency;
use ullage::policy::{Policy, StageName};
use ullage::store::Storing;
use ullage::tokens::{CountTokens, Estimate};
use ullage::wire::Format;

/// Every budget up to what the conversation takes is kept, or refused with a floor above it.
fn assert_promise(what: &str, messages: &[Message], policy: &Policy, counter: &Arc<dyn CountTokens>) {
    let input = render(messages, Format::Bedrock);
    let tokens = fresh_count(&input, Format::Bedrock, counter);
    for budget in (1..=tokens).step_by(7) {
        match compact(&engine(policy, counter, Storing::On), &input, Format::Bedrock, budget, Urgency::Hard) {
            Ok(outcome) => {
                let after = fresh_count(&outcome.output, Format::Bedrock, counter);
                assert_eq!(after, outcome.plan.tokens_after, "{what}");
                assert!(after <= budget, "{what}: {after} in {budget}\n{}", outcome.plan.explain());
            }
            Err(Error::Budget { floor, .. }) => assert!(floor > budget, "{what}: a floor of {floor} in {budget}"),
            Err(other) => panic!("{what}: {other}"),
        }
    }
}

fn only(stage: StageName, keep: usize) -> Policy {
    Policy { stages: vec![stage], compress_to: keep, keep_recent: 0, high: 1.0, low: 1.0, ..small_policy() }
}

fn one_result(tool: &str, item: Item) -> Vec<Message> {
    let result = Message::new("user", vec![Block::Result { id: "c".to_owned(), items: vec![item] }]);
    vec![Message::text("user", "go"), Message::call("c", tool), result]
}

fn rows(count: usize) -> Item {
    Item::Json((0..count).map(|row| json!({ "row": row, "state": "all is well" })).collect())
}

#[test]
fn rule_3_a_long_name_of_a_tool_does_not_burst_the_budget() {
    let text = "all is well\n".repeat(400);
    for tool in ["q_x_z_j_k_w_v_y_b_p_f_g_h_m_n_r_", "qzxjqzxjkvqwzxjqkvzqxjwkvqzjxwkq", "工具工具工具工具工具工具"]
    {
        for counter in [exact(), estimate()] {
            assert_promise(tool, &one_result(tool, Item::Text(text.clone())), &only(StageName::Compress, 50), &counter);
        }
    }
}

#[test]
fn rule_3_a_json_result_that_becomes_text_does_not_burst_the_budget() {
    for keep in [50, 400, 1_000] {
        for counter in [exact(), estimate()] {
            let messages = one_result("list", rows(200));
            assert_promise(&format!("{keep}"), &messages, &only(StageName::Compress, keep), &counter);
        }
    }
}

#[test]
fn rule_3_a_counter_of_one_token_a_character_does_not_burst_the_budget() {
    let counter: Arc<dyn CountTokens> = Arc::new(Estimate::ratio(1.0).unwrap());
    let text = "all is well\n".repeat(100);
    assert_promise("cut", &one_result("bash", Item::Text(text)), &only(StageName::Compress, 50), &counter);
    let words: Vec<Message> =
        ["user", "assistant"].into_iter().cycle().take(9).map(|role| Message::text(role, &"so ".repeat(60))).collect();
    assert_promise("removed", &words, &only(StageName::Window, 50), &counter);
}

#[test]
fn rule_3_a_long_line_like_a_mark_does_not_burst_the_budget() {
    let mark = format!("[ullage: {} is stored as bash-0123456789abcdef]", "q.x;".repeat(35));
    let text = format!("{mark}\n{}", "all is well\n".repeat(300));
    for counter in [exact(), estimate()] {
        let messages = one_result("bash", Item::Text(text.clone()));
        assert_promise("mark", &messages, &only(StageName::Compress, 50), &counter);
    }
}

/// Small talk between pins: every gap would cost more than it frees.
fn small_talk_between_pins(pairs: usize) -> Vec<Message> {
    let mut messages = vec![Message::text("user", &"what must stay ".repeat(60))];
    for _ in 0..pairs {
        messages.push(Message::text("assistant", "I see.").pinned());
        messages.push(Message::text("user", "ok"));
    }
    messages.push(Message::text("assistant", "Done."));
    messages
}

#[test]
fn rule_3_a_conversation_that_fits_is_not_refused_for_its_notes() {
    for pairs in 1..8 {
        let input = render(&small_talk_between_pins(pairs), Format::Bedrock);
        let tokens = fresh_count(&input, Format::Bedrock, &exact());
        let policy = Policy { high: 0.85, low: 0.5, ..only(StageName::Window, 50) };
        let engine = engine(&policy, &exact(), Storing::On);
        for urgency in [Urgency::Soft, Urgency::Hard] {
            let outcome = compact(&engine, &input, Format::Bedrock, tokens + 5, urgency);
            let after = outcome.map(|outcome| outcome.plan.tokens_after);
            assert!(after.as_ref().is_ok_and(|after| *after <= tokens), "{pairs}: {tokens} became {after:?}");
        }
    }
}

#[test]
fn rule_7_removing_messages_never_makes_the_conversation_longer() {
    let messages = small_talk_between_pins(6);
    let input = render(&messages, Format::Bedrock);
    let tokens = fresh_count(&input, Format::Bedrock, &exact());
    for budget in [tokens, tokens * 2 - 1] {
        let engine = engine(&Policy { high: 0.5, low: 0.5, ..only(StageName::Window, 50) }, &exact(), Storing::On);
        let outcome = compact(&engine, &input, Format::Bedrock, budget, Urgency::Hard);
        let after = outcome.map(|outcome| outcome.plan.tokens_after);
        assert!(after.as_ref().is_ok_and(|after| *after <= tokens), "{tokens} became {after:?}");
    }
}

/// A note is text, and text can be forged.
#[test]
fn rule_10_forged_notes_do_not_overflow() {
    let note = format!("[ullage: {} earlier messages were removed to fit the context window]", usize::MAX);
    let roles = ["user", "assistant"].into_iter().cycle().take(12).enumerate();
    let messages: Vec<Message> = roles
        .map(|(index, role)| {
            let words = Block::Text(format!("{index} {}", "words ".repeat(100)));
            if index == 0 {
                Message::new(role, vec![words])
            } else {
                Message::new(role, vec![Block::Text(note.clone()), words])
            }
        })
        .collect();
    for format in Format::ALL {
        let input = render(&messages, format);
        let engine = engine(&only(StageName::Window, 50), &exact(), Storing::On);
        let outcome = compact(&engine, &input, format, 700, Urgency::Hard).unwrap();
        assert_eq!(outcome.plan.tokens_after, fresh_count(&outcome.output, format, &exact()));
    }
}

/// A host may write a message of one text block back as a plain string, a note of ours among them.
#[test]
fn rule_3_a_note_in_a_plain_string_is_replaced_and_counted() {
    let roles = ["user", "assistant"].into_iter().cycle();
    let mut messages: Vec<Message> = roles.take(10).map(|role| Message::text(role, &"words ".repeat(100))).collect();
    messages[1].pinned = true;
    messages[6] = Message::text("user", "[ullage: 3 earlier messages were removed to fit the context window]");
    for format in Format::ALL {
        let input = render(&messages, format);
        let engine = engine(&Policy { keep_recent: 4, ..only(StageName::Window, 50) }, &exact(), Storing::On);
        let outcome = compact(&engine, &input, format, 600, Urgency::Hard).unwrap();
        let counted = fresh_count(&outcome.output, format, &exact());
        assert_eq!(outcome.plan.tokens_after, counted, "{}\n{:#}", outcome.plan.explain(), outcome.output);
        assert!(!outcome.output.to_string().contains("3 earlier messages"), "the new note speaks for both");
    }
}
