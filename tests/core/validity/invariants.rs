//! A plan leaves a conversation that a provider takes, wherever the conversation was cut, and what must stay stays.

use crate::support::generate::{ANY, Settings, Shape, conversation, settings};
use crate::support::{
    Block, Item, Message, Outcome, cases, check, compact, engine, exact, fresh_count, render, slice, small_policy,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::error::Error;
use ullage::planner::Urgency;
use ullage::policy::Policy;
use ullage::store::Storing;
use ullage::wire::Format;

/// Plans with a budget that leaves about the share of what is there.
fn press(messages: &Value, format: Format, settings: &Settings) -> Result<Option<Outcome>, Error> {
    let budget = settings.budget(fresh_count(messages, format, &settings.counter));
    let engine = engine(&settings.policy, &settings.counter, settings.storing);
    match compact(&engine, messages, format, budget, settings.urgency) {
        Err(Error::Budget { .. }) => Ok(None),
        other => other.map(Some),
    }
}

fn is_request(message: &Value) -> bool {
    let keys = ["text", "image", "inlineData"];
    let types = ["text", "image", "image_url", "input_text", "input_image"];
    let is_words =
        |block: &Value| keys.iter().any(|key| !block[key].is_null()) || types.iter().any(|kind| block["type"] == *kind);
    message["role"] == "user" && check::blocks(message).iter().any(is_words)
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn rule_1_calls_keep_their_results_after_a_cut_at_every_message(
        messages in conversation(Shape { turns: 3, ..ANY }, "t"),
        settings in settings(),
    ) {
        for format in Format::ALL {
            let all = render(&messages, format);
            for end in 0..=check::entries(&all).len() {
                let input = slice(&all, 0..end);
                // A host that gives every result an entry of its own may be asked while some are missing.
                if check::waits_for_more(&input, format) {
                    continue;
                }
                let Some(outcome) = press(&input, format, &settings)? else { continue };
                prop_assert_eq!(check::unpaired(&outcome.output, format), Vec::<String>::new());
                let (after, before) = (check::waiting(&outcome.output, format), check::waiting(&input, format));
                prop_assert_eq!(after, before, "the calls that wait still do");
            }
        }
    }

    #[test]
    fn rule_1_a_history_that_starts_with_an_orphan_is_refused(
        messages in conversation(Shape { turns: 2, ..ANY }, "t"),
        settings in settings(),
    ) {
        for format in Format::ALL {
            let all = render(&messages, format);
            let length = check::entries(&all).len();
            for start in 0..length {
                let input = slice(&all, start..length);
                let orphaned = !check::unpaired(&input, format).is_empty();
                match press(&input, format, &settings) {
                    Err(Error::Message { index, .. }) => prop_assert!(orphaned && index < check::entries(&input).len()),
                    Err(other) => prop_assert!(false, "{other}"),
                    Ok(None) => prop_assert!(!orphaned),
                    Ok(Some(outcome)) => {
                        prop_assert!(!orphaned);
                        prop_assert_eq!(check::unpaired(&outcome.output, format), Vec::<String>::new());
                    }
                }
            }
        }
    }

    #[test]
    fn rule_1_roles_alternate_as_well_as_before(messages in conversation(ANY, "t"), settings in settings()) {
        for format in Format::ALL {
            let input = render(&messages, format);
            let Some(outcome) = press(&input, format, &settings)? else { continue };
            let ((repeated, user_first), (repeated_before, user_first_before)) =
                (check::roles(&outcome.output, format), check::roles(&input, format));
            prop_assert!(repeated <= repeated_before, "{}", outcome.plan.explain());
            prop_assert!(user_first || !user_first_before, "{}", outcome.plan.explain());
        }
    }

    #[test]
    fn rule_1_the_last_turn_begins_with_its_thinking(messages in conversation(ANY, "t"), settings in settings()) {
        let input = render(&messages, Format::Bedrock);
        let Some(outcome) = press(&input, Format::Bedrock, &settings)? else { return Ok(()) };
        let survivors = check::survivors(&outcome.output);
        let all = input.as_array().map_or(&[][..], Vec::as_slice);
        let begins_turn = |message: &Value| message["role"] == "user" && message["content"][0]["toolResult"].is_null();
        let turn = all.iter().rposition(begins_turn).unwrap_or_default();
        let (mut thought, mut begun) = (false, false);
        for (index, message) in all.iter().enumerate().skip(turn) {
            thought |= check::is_signed(message);
            if let Some(after) = survivors.get(&index) {
                let (before, after) = (check::blocks(message).len(), check::blocks(&outcome.output[*after]).len());
                prop_assert!(index == turn || !thought || after == before, "a note at {index} would begin a new turn");
                prop_assert!(begun || message["role"] != "assistant" || !thought || check::is_signed(message),
                    "{index} stays without the thinking before it");
                begun |= message["role"] == "assistant";
            }
        }
    }

    #[test]
    fn rule_2_system_requests_and_pins_survive(messages in conversation(ANY, "t"), settings in settings()) {
        for format in Format::ALL {
            let input = render(&messages, format);
            let Some(outcome) = press(&input, format, &settings)? else { continue };
            let survivors = check::survivors(&outcome.output);
            let all = input.as_array().map_or(&[][..], Vec::as_slice);
            let requests: Vec<usize> = (0..all.len()).filter(|index| is_request(&all[*index])).collect();
            for (index, message) in all.iter().enumerate() {
                let pinned = check::is_pinned(message);
                let endmost = requests.first() == Some(&index) || requests.last() == Some(&index);
                if !(pinned || endmost || message["role"] == "system" || index + 1 == all.len()) {
                    continue;
                }
                let after = survivors.get(&index).map(|after| &outcome.output[*after]);
                prop_assert!(after.is_some(), "message {} is gone", index);
                if let Some(after) = after.filter(|_| pinned || message["role"] == "system") {
                    prop_assert_eq!(after, message);
                } else if let Some(after) = after.filter(|_| endmost) {
                    let (before, after) = (check::blocks(message), check::blocks(after));
                    prop_assert!(after.len() >= before.len());
                    for (before, after) in before.iter().zip(&after) {
                        let is_trimmed = after.to_string().contains("[ullage: text of ");
                        prop_assert!(before == after || is_trimmed, "{before} became {after}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_thought_at_the_start_of_a_long_turn_does_not_lock_the_turn() {
    let engine = engine(&Policy::default(), &exact(), Storing::On);
    for pinned in [false, true] {
        let mut messages = vec![Message { pinned, ..Message::text("user", "go on until all is done") }];
        for step in 0..40 {
            let id = format!("c-{step}");
            let input = json!({ "path": "src/lib.rs", "text": "words of some length ".repeat(20) });
            let thought = Block::Thinking { text: "first the tests".to_owned(), signed: true };
            let call = Block::Call { id: id.clone(), tool: "write".to_owned(), input };
            let blocks = (step == 0).then_some(thought).into_iter().chain([call]).collect();
            messages.push(Message::new("assistant", blocks));
            let items = vec![Item::Text("done ".repeat(60))];
            messages.push(Message::new("user", vec![Block::Result { id, items }]));
        }
        for format in Format::ALL {
            let mut input = render(&messages, format);
            for _ in 0..2 {
                let before = check::entries(&input).len();
                input = compact(&engine, &input, format, 1_500, Urgency::Soft).unwrap().output;
                let after = check::entries(&input).len();
                assert!(after < before || before < 40, "{format:?}: {before} to {after}");
                let said = input.to_string();
                assert_eq!(said.matches("first the tests").count(), 1, "{format:?}");
                // One note, with the request or in front of it where that is pinned.
                assert_eq!(said.matches(" earlier messages are stored as ").count(), 1, "{format:?}: {said}");
                let (note, thought) = (said.find(" earlier messages").unwrap(), said.find("first the tests").unwrap());
                assert!(note < thought, "{format:?}");
                for more in render(&messages[41..], format).as_array().unwrap() {
                    input.as_array_mut().unwrap().push(more.clone());
                }
            }
        }
    }
}

/// Rather big messages, so that removing any of them is worth a note.
fn wordy(role: &'static str, name: &str) -> Message {
    Message::text(role, &format!("{name}: {}", "words of some length ".repeat(200)))
}

fn press_hard(messages: &[Message], format: Format, budget: usize) -> Outcome {
    let engine = engine(&small_policy(), &crate::support::exact(), ullage::store::Storing::On);
    compact(&engine, &render(messages, format), format, budget, Urgency::Hard).expect("it fits")
}

/// Every place where a pin can stand, beside every gap.
#[test]
fn rule_1_roles_alternate_around_every_pin() {
    for format in Format::ALL {
        for pins in 0_u32..512 {
            let roles = ["user", "assistant"].into_iter().cycle();
            let messages: Vec<Message> = roles
                .take(9)
                .enumerate()
                .map(|(index, role)| {
                    let message = wordy(role, &index.to_string());
                    if pins & (1 << index) == 0 { message } else { message.pinned() }
                })
                .collect();
            let outcome = press_hard(&messages, format, 10_000);
            assert_eq!(check::roles(&outcome.output, format), (0, true), "pins {pins:09b}\n{}", outcome.plan.explain());
        }
    }
}

/// Providers take no system message here, but a host that does hands the others on in their order.
#[test]
fn rule_1_roles_alternate_around_a_system_message_in_the_middle() {
    for place in 1..9 {
        let roles = ["user", "assistant"].into_iter().cycle();
        let mut messages: Vec<Message> = roles.take(9).map(|role| wordy(role, "x")).collect();
        messages.insert(place, Message::text("system", "be brief"));
        let outcome = press_hard(&messages, Format::Bedrock, 3_000);
        assert_eq!(check::roles(&outcome.output, Format::Bedrock), (0, true), "at {place}\n{}", outcome.plan.explain());
    }
}

/// A person may quote one of our notes; the words below it are still a request.
#[test]
fn rule_2_a_request_that_quotes_a_note_survives() {
    let quote = "[ullage: 3 earlier messages were removed to fit the context window]\nWhat does this line mean?";
    let quoting = || Message::new("user", vec![Block::Text(quote.to_owned()), Block::Text("Please.".to_owned())]);
    let mut talk: Vec<Message> =
        ["user", "assistant"].into_iter().cycle().take(6).map(|role| wordy(role, "x")).collect();
    let first = [&[quoting()], &talk[1..]].concat();
    talk.extend([Message::text("user", quote), Message::call("a", "bash"), Message::result("a", &"long ".repeat(300))]);
    let last = [&talk[..], &[Message::call("b", "bash"), Message::result("b", "ok")]].concat();
    for format in Format::ALL {
        for (which, messages) in [("first", &first), ("last", &last)] {
            let outcome = press_hard(messages, format, 2_400);
            let text = outcome.output.to_string();
            assert!(text.contains("What does this line mean?"), "the {which} request\n{}", outcome.plan.explain());
        }
    }
}

/// A result that comes late is rejected by every provider, also when its call is there.
#[test]
fn rule_1_a_result_that_is_not_in_the_next_message_is_refused() {
    for format in Format::ALL {
        let engine = engine(&small_policy(), &crate::support::exact(), ullage::store::Storing::On);
        let press = |messages: &[Message]| compact(&engine, &render(messages, format), format, 10_000, Urgency::Soft);
        let answered = [Message::text("user", "go"), Message::call("a", "bash"), Message::result("a", "done")];
        assert!(press(&answered).is_ok());
        let mut late = answered.to_vec();
        late.insert(2, Message::text("user", "wait"));
        late.insert(3, Message::text("assistant", "I wait."));
        let refused = press(&late);
        assert!(matches!(refused, Err(Error::Message { index: 1, .. })), "{refused:?}");
        let mut above = answered.to_vec();
        above.insert(2, Message::text("system", "be brief"));
        assert!(press(&above).is_ok());
    }
}
