//! A remembered count equals a fresh one, whoever changed what in between.

use std::sync::Arc;

use crate::support::generate::{ANY, Shape, conversation, counter, text};
use crate::support::{Block, Item, Message, cases, engine, estimate, exact, fresh_count, render, small_policy};
use proptest::prelude::*;
use serde_json::Value;
use ullage::engine::Room;
use ullage::ledger::Ledger;
use ullage::store::Storing;
use ullage::tokens::{CountTokens, TextKind};
use ullage::wire::{Format, read};

fn count(ledger: &Ledger, messages: &Value, format: Format) -> usize {
    ledger.measure(&read(&messages, format).unwrap()).total()
}

/// A change at a place that is chosen by `at`.
fn mutate(messages: &mut Vec<Message>, at: usize, how: u8, text: &str) {
    let index = at % messages.len();
    let message = &mut messages[index];
    let count = message.blocks.len();
    let block = at / 7 % count.max(1);
    match (how, message.blocks.get_mut(block)) {
        (0, _) => message.blocks.push(Block::Text(text.to_owned())),
        (1, Some(Block::Text(old))) => old.push_str(text),
        (2, Some(Block::Result { items, .. })) => items.push(Item::Text(text.to_owned())),
        (3, Some(Block::Result { items, .. })) => items.reverse(),
        (4, Some(Block::Call { id, tool, .. })) => std::mem::swap(id, tool),
        (5, Some(_)) if count > 1 => drop(message.blocks.remove(block)),
        (6, _) => message.role = if message.role == "user" { "assistant" } else { "user" },
        (7, _) => messages.insert(index, Message::text("user", text)),
        (_, Some(Block::Text(old))) => *old = old.chars().rev().collect(),
        _ => {}
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn rule_9_a_remembered_count_equals_a_fresh_count(
        messages in conversation(ANY, "t"),
        changes in prop::collection::vec((any::<usize>(), 0_u8..9, text(300)), 1..12),
        counter in counter(),
    ) {
        let (mut messages, ledger) = (messages, Ledger::new(counter.clone()));
        for (at, how, text) in changes {
            mutate(&mut messages, at, how, &text);
            for format in Format::ALL {
                let input = render(&messages, format);
                prop_assert_eq!(count(&ledger, &input, format), fresh_count(&input, format, &counter));
            }
        }
    }

    #[test]
    fn rule_9_threads_that_share_a_ledger_count_the_same(
        conversations in prop::collection::vec(conversation(Shape { turns: 2, ..ANY }, "t"), 4),
        counter in counter(),
    ) {
        let ledger = Ledger::new(counter.clone());
        let inputs: Vec<Value> = conversations.iter().map(|messages| render(messages, Format::Bedrock)).collect();
        let fresh: Vec<usize> = inputs.iter().map(|input| fresh_count(input, Format::Bedrock, &counter)).collect();
        std::thread::scope(|scope| {
            for start in 0..4 {
                let (ledger, inputs, fresh) = (&ledger, &inputs, &fresh);
                scope.spawn(move || {
                    for turn in 0..8 {
                        let which = (start + turn) % inputs.len();
                        assert_eq!(count(ledger, &inputs[which], Format::Bedrock), fresh[which]);
                    }
                });
            }
        });
    }

    #[test]
    fn a_status_adds_up(messages in conversation(ANY, "t"), counter in counter()) {
        let input = render(&messages, Format::Bedrock);
        let engine = engine(&small_policy(), &counter, Storing::On);
        let reading = engine.read(&&input, None, &[]).unwrap();
        let status = engine.status(&reading, Room::default()).unwrap();
        prop_assert_eq!(status.tokens, fresh_count(&input, Format::Bedrock, &counter));
        prop_assert_eq!(status.parts.values().sum::<usize>(), status.tokens);
    }
}

/// Big enough that counting is shared among threads.
#[test]
fn rule_9_a_large_conversation_counts_the_same_in_pieces() {
    for counter in [exact(), estimate()] {
        let output = |n: usize| (0..9_000).map(|line| format!("{n} line {line}: all is well\n")).collect::<String>();
        let messages: Vec<Message> = (0..6)
            .flat_map(|n| [Message::call(&format!("c{n}"), "bash"), Message::result(&format!("c{n}"), &output(n))])
            .collect();
        let input = render(&messages, Format::Bedrock);
        let each: usize = messages
            .iter()
            .map(|message| {
                fresh_count(&render(std::slice::from_ref(message), Format::Bedrock), Format::Bedrock, &counter)
            })
            .sum();
        let ledger = Ledger::new(counter);
        assert_eq!([count(&ledger, &input, Format::Bedrock), count(&ledger, &input, Format::Bedrock)], [each, each]);
    }
}

#[test]
fn rule_9_the_kind_of_a_text_is_part_of_what_is_remembered() {
    let text = "{\"a\": [1, 2, 3]} and some words that are longer than what is not worth remembering".repeat(4);
    let ledger = Ledger::new(estimate());
    // The estimate has an identifier in the frame, so that its count is another.
    for kind in [TextKind::Identifier, TextKind::Prose, TextKind::Json, TextKind::ToolOutput, TextKind::Identifier] {
        assert_eq!(ledger.now().count_remembered(&text, kind), estimate().count(&text, kind));
    }
}

#[test]
fn rule_9_what_is_forgotten_is_counted_anew() {
    let counter: Arc<dyn CountTokens> = estimate();
    let ledger = Ledger::new(counter.clone());
    let kept = "a text that is asked for again and again, and so stays";
    for round in 0_u32..40 {
        let texts: Vec<Message> = (0..4_000)
            .map(|n| Message::text("user", &format!("round {round}, text {n}, long enough to be remembered")))
            .collect();
        let input = render(&texts, Format::Bedrock);
        assert_eq!(count(&ledger, &input, Format::Bedrock), fresh_count(&input, Format::Bedrock, &counter));
        assert_eq!(ledger.now().count_remembered(&kept, TextKind::Prose), counter.count(kept, TextKind::Prose));
    }
    assert!(ledger.remembered() < 120_000, "{} texts are remembered", ledger.remembered());
}
