//! The last level: what must stay is shortened too, and the floor that an error names is true.

use crate::support::generate::{ANY, Settings, conversation, settings};
use crate::support::{
    Block, Item, Message, Outcome, ask, cases, check, compact, engine, exact, fresh_count, render, word,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::engine::Engine;
use ullage::error::Error;
use ullage::planner::Urgency;
use ullage::policy::{Policy, StageName};
use ullage::store::Storing;
use ullage::wire::Format;

fn floor(engine: &Engine, input: &Value, format: Format, budget: usize) -> Result<usize, usize> {
    let reading = engine.read(&input, Some(format), &[]).expect("it reads");
    match engine.plan(&reading, ask(budget, Urgency::Soft)) {
        Ok(plan) => Ok(plan.tokens_after),
        Err(Error::Budget { floor, messages, .. }) => {
            assert!(messages.iter().all(|(entry, _)| *entry < check::entries(input).len()));
            Err(floor)
        }
        Err(other) => panic!("{other}"),
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn a_budget_of_the_floor_fits_and_one_token_less_does_not(messages in conversation(ANY, "t"), settings in settings()) {
        let Settings { policy, counter, storing, .. } = settings;
        let engine = engine(&policy, &counter, storing);
        for format in Format::ALL {
            let input = render(&messages, format);
            let Err(least) = floor(&engine, &input, format, 1) else { continue };
            let at_floor = floor(&engine, &input, format, least);
            prop_assert!(at_floor.is_ok_and(|tokens| tokens <= least), "{format:?}: floor {least}, then {at_floor:?}");
            prop_assert_eq!(floor(&engine, &input, format, least - 1), Err(least), "{:?}", format);
        }
    }
}

const PASTE: usize = 900;

/// A request with a log between its sentences, and a step whose arguments and results are long.
fn work() -> Vec<Message> {
    let log: String =
        (0..PASTE).map(|n| format!("2026-11-23 10:{n:04} [{}] INFO id={n} took={}ms\n", word(n), n * 7)).collect();
    let request =
        format!("Our nightly job dies.\n\n```\n{log}```\n\nNever touch the schema. Which worker was the slowest?");
    let call = |n: usize| Block::Call {
        id: format!("w-{n}"),
        tool: "write".to_owned(),
        input: json!({ "path": format!("src/part_{n}.py"), "content": format!("row = {n}\n").repeat(900) }),
    };
    let result = |n: usize| Block::Result {
        id: format!("w-{n}"),
        items: vec![Item::Text((0..300).map(|line| format!("line {} of part {n}\n", word(line))).collect())],
    };
    vec![
        Message::text("user", &request),
        Message::new("assistant", (0..4).map(call).collect()),
        Message::new("user", (0..4).map(result).collect()),
    ]
}

fn pressed(engine: &Engine, messages: &[Message], format: Format, budget: usize) -> Outcome {
    compact(engine, &render(messages, format), format, budget, Urgency::Soft).expect("it fits")
}

#[test]
fn what_must_stay_is_shortened_and_the_instruction_survives() {
    let engine = engine(&Policy::default(), &exact(), Storing::On);
    for format in Format::ALL {
        let outcome = pressed(&engine, &work(), format, 1_000);
        assert!(fresh_count(&outcome.output, format, &exact()) <= 1_000, "{format:?}");
        assert_eq!(check::unpaired(&outcome.output, format), Vec::<String>::new());
        let said = outcome.output.to_string();
        for sentence in ["Our nightly job dies.", "Never touch the schema.", "Which worker was the slowest?"] {
            assert!(said.contains(sentence), "{format:?}: {sentence}");
        }
        let report = outcome.plan.report();
        assert!(report.stages[&StageName::Trim].edits >= 5, "{report:?}");
        assert!(outcome.plan.explain().contains("the last level"), "{}", outcome.plan.explain());
        // Everything that is gone comes back byte for byte.
        let stored = |start: &str| {
            outcome.stored.iter().filter(|(reference, _)| reference.as_str().starts_with(start)).collect::<Vec<_>>()
        };
        let [(_, request)] = stored("request-")[..] else { panic!("{format:?}: one request") };
        let Block::Text(whole) = &work()[0].blocks[0] else { panic!("a text") };
        assert_eq!(request, whole.as_bytes());
        assert_eq!(stored("write-").len(), 8, "{format:?}: the arguments and the results of four calls");
        // And what was shortened is not stored again.
        let again = compact(&engine, &outcome.output, format, 700, Urgency::Soft).expect("it fits");
        assert_eq!(again.stored.len(), 0, "{format:?}: {}", again.plan.explain());
    }
}

#[test]
fn what_is_most_expendable_goes_first() {
    let engine = engine(&Policy::default(), &exact(), Storing::On);
    let whole = |budget: usize, text: &str| {
        pressed(&engine, &work(), Format::Anthropic, budget).output.to_string().contains(text)
    };
    let (argument, paste, said) = ("row = 0\\nrow = 0", "id=450 ", "Never touch the schema.");
    assert!(!whole(28_000, argument) && whole(28_000, paste) && whole(28_000, said));
    assert!(!whole(2_000, paste) && whole(2_000, said));
}

#[test]
fn the_words_of_the_last_request_are_cut_last() {
    let engine = engine(&Policy::default(), &exact(), Storing::On);
    let words = |name: &str, count: usize| (0..count).map(|n| format!("{name}{n} ")).collect::<String>();
    let mut messages =
        vec![Message::text("user", &words("first", 500)), Message::text("assistant", &words("said", 500))];
    messages.push(Message::text("user", &words("last", 250)));
    messages.extend(work().into_iter().skip(1));
    for format in Format::ALL {
        let whole = fresh_count(&render(&messages[2..3], format), format, &exact());
        let left = pressed(&engine, &messages, format, whole + 1_500).output.to_string();
        let cut: Vec<usize> = (0..250).filter(|n| !left.contains(&format!("last{n} "))).collect();
        assert!(cut.is_empty(), "{format:?}: {cut:?}");
        assert!(!left.contains("said250 "), "{format:?}");
    }
}

/// Hosts add remarks to results. The request that the model works on stays beside the last of them.
#[test]
fn a_remark_beside_a_result_does_not_replace_the_request() {
    let engine = engine(&Policy::default(), &exact(), Storing::On);
    let mut messages = vec![Message::text("user", "Look around."), Message::text("assistant", "It is a web shop.")];
    messages.push(Message::text("user", "Rename the column to paid_at."));
    for step in 0..40 {
        let id = format!("c-{step}");
        messages
            .extend([Message::call(&id, "look"), Message::result(&id, &format!("line {step} of it\n").repeat(100))]);
    }
    messages[80].blocks.push(Block::Text("The list of tasks is empty.".to_owned()));
    let left = pressed(&engine, &messages, Format::Anthropic, 2_000).output.to_string();
    assert!(left.contains("Rename the column to paid_at.") && left.contains("The list of tasks is empty."), "{left}");
}

#[test]
fn a_policy_without_the_stage_refuses_as_before() {
    let policy = Policy::default();
    let stages = policy.stages.iter().copied().filter(|stage| *stage != StageName::Trim).collect();
    let engine = engine(&Policy { stages, ..policy }, &exact(), Storing::On);
    assert!(floor(&engine, &render(&work(), Format::Anthropic), Format::Anthropic, 1_000).is_err());
}

#[test]
fn only_pins_the_system_prompt_and_open_calls_are_fixed() {
    let engine = engine(&Policy::default(), &exact(), Storing::On);
    let open = vec![work().remove(0), work().remove(1)];
    let mut pinned = work();
    pinned[0].pinned = true;
    let system = vec![Message::text("system", &"Be careful. ".repeat(2_000)), Message::text("user", "Go on.")];
    for messages in [open, pinned, system] {
        for format in [Format::Anthropic, Format::OpenAi, Format::Gemini] {
            assert!(floor(&engine, &render(&messages, format), format, 1_000).is_err(), "{format:?}");
        }
    }
}

#[test]
fn what_takes_the_room_and_what_would_help_is_said_in_a_sentence() {
    let engine = engine(&Policy::default(), &exact(), Storing::On);
    let said = |messages: &[Message]| {
        let input = render(messages, Format::OpenAi);
        match compact(&engine, &input, Format::OpenAi, 1_000, Urgency::Soft) {
            Ok(outcome) => outcome.plan.explain(),
            Err(error) => error.to_string(),
        }
    };
    let mut pinned = work();
    pinned[0].pinned = true;
    let cases = [
        (pinned, "the first request is pinned and contains a ", "-character paste (", ": unpin it"),
        (
            vec![work().remove(0)],
            "the first request contains a ",
            "-character paste (",
            ": put it into a file for the agent",
        ),
        (
            vec![work().remove(0), work().remove(1)],
            "calls write with ",
            ", and waits for the result (",
            ": add the result",
        ),
    ];
    for (messages, what, size, help) in cases {
        let said = said(&messages);
        assert!(said.contains(what) && said.contains(size) && said.contains(help), "{said}");
    }
}

#[test]
fn an_earlier_digest_is_not_fixed() {
    let engine = engine(&Policy::default(), &exact(), Storing::On);
    let mut messages = vec![Message::text("user", "Find what is slow.")];
    for step in 0..60 {
        messages.push(Message::call(&format!("c-{step}"), "look"));
        messages.push(Message::result(
            &format!("c-{step}"),
            &format!("found slow_part_{step} in src/part_{step}.py\n").repeat(30),
        ));
    }
    for format in Format::ALL {
        let input = render(&messages, format);
        let once = compact(&engine, &input, format, 3_000, Urgency::Soft).expect("it fits").output;
        let (before, after) = (floor(&engine, &input, format, 1), floor(&engine, &once, format, 1));
        let (Err(before), Err(after)) = (before, after) else { panic!("one token is too few") };
        assert!(before.abs_diff(after) <= 20, "{format:?}: {before} at first, {after} after a compaction");
    }
}

#[test]
fn a_thought_larger_than_the_budget_goes_with_its_loop() {
    let engine = engine(&Policy::default(), &exact(), Storing::On);
    let thought = Block::Thinking { text: "Could it be the index? ".repeat(400), signed: true };
    let mut messages = vec![Message::text("user", "Find the slow query.")];
    for step in 0..3 {
        let mut call = Message::call(&format!("c-{step}"), "look");
        call.blocks.insert(0, thought.clone());
        messages.extend([call, Message::result(&format!("c-{step}"), &format!("orders_by_day_{step} took 90 s"))]);
    }
    for format in Format::ALL {
        let outcome = pressed(&engine, &messages, format, 1_000);
        assert!(fresh_count(&outcome.output, format, &exact()) <= 1_000, "{format:?}");
        assert_eq!(check::unpaired(&outcome.output, format), Vec::<String>::new());
        let left = outcome.output.to_string();
        assert!(left.contains("Find the slow query.") && left.contains("orders_by_day_2"), "{format:?}: {left}");
        // A remark of the host in the loop goes with it.
        let mut remarked = messages.clone();
        remarked[4].blocks.push(Block::Text("The list of tasks is empty.".to_owned()));
        assert!(floor(&engine, &render(&remarked, format), format, 1_000).is_ok(), "{format:?}");
        // A loop in which a call still waits, and one with a pin, stay.
        let waiting = messages[..messages.len() - 1].to_vec();
        let mut pinned = messages.clone();
        pinned[6].pinned = true;
        for fixed in [waiting, pinned] {
            let is_signed = render(&fixed, format).to_string().contains("Could it be the index?");
            assert!(!is_signed || floor(&engine, &render(&fixed, format), format, 1_000).is_err(), "{format:?}");
        }
    }
}
