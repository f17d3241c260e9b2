//! A plan keeps its promises: the budget, the count, the untouched messages, and nothing left to do afterwards.

use std::collections::BTreeSet;
use std::fmt::Debug;

use crate::support::generate::{ANY, COMMON, Settings, conversation, settings};
use crate::support::{
    Block, Message, Outcome, cases, check, compact, compact_in_window, engine, exact, fresh_count, render, small_policy,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use ullage::edit::{Action, Edit};
use ullage::error::Error;
use ullage::planner::Urgency;
use ullage::policy::{Policy, StageName};
use ullage::store::Storing;
use ullage::wire::{Format, read};

const URGENCIES: [Urgency; 2] = [Urgency::Soft, Urgency::Hard];

/// The outcome and its budget; `None` where the budget is refused as too small, with a floor above it.
fn press(input: &Value, format: Format, settings: &Settings) -> Result<(Option<Outcome>, usize), TestCaseError> {
    let budget = settings.budget(fresh_count(input, format, &settings.counter));
    let engine = engine(&settings.policy, &settings.counter, settings.storing);
    match compact(&engine, input, format, budget, settings.urgency) {
        Ok(outcome) => Ok((Some(outcome), budget)),
        Err(Error::Budget { budget: refused, floor, messages, .. }) => {
            prop_assert_eq!(refused, budget);
            prop_assert!(floor > budget, "a floor of {} is no reason to refuse {}", floor, budget);
            prop_assert!(!messages.is_empty());
            Ok((None, budget))
        }
        Err(other) => Err(TestCaseError::fail(other.to_string())),
    }
}

/// True if the plans are equal. Signed reasoning in front of items that OpenAI has stored stays in the formats that record
/// it, and their plans are equal among themselves.
fn all_equal<T: PartialEq + Debug>(
    plans: [Result<T, TestCaseError>; Format::ALL.len()],
    messages: &[Message],
) -> Result<(), TestCaseError> {
    let is_signed = |block: &Block| matches!(block, Block::Thinking { signed: true, .. });
    let is_bound = messages.iter().any(|message| message.stored && message.blocks.iter().any(is_signed));
    let says_so = |format| matches!(format, Format::OpenAiResponses | Format::AiSdk);
    let (mut free, mut bound) = (None, None);
    for (plan, format) in plans.into_iter().zip(Format::ALL) {
        let plan = plan?;
        let first = if is_bound && says_so(format) { &mut bound } else { &mut free };
        match first {
            None => *first = Some(plan),
            Some(first) => prop_assert_eq!(&plan, &*first, "{}", format.name()),
        }
    }
    Ok(())
}

/// Takes all that is superseded, old reasoning too, and nothing else.
fn prune(messages: &[Message], format: Format, settings: &Settings) -> Vec<Edit> {
    // A low mark that is out of reach, in a window that nothing fills.
    let (window, high, low) = (1_000_000, 0.000_2, 0.000_1);
    let policy = Policy { stages: vec![StageName::Prune], window, high, low, ..settings.policy.clone() };
    let engine = engine(&policy, &settings.counter, settings.storing);
    compact_in_window(&engine, &render(messages, format), format, settings.urgency).unwrap().plan.edits
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn rule_3_a_plan_counts_what_it_says_and_fits(messages in conversation(ANY, "t"), settings in settings()) {
        for format in Format::ALL {
            let input = render(&messages, format);
            let (Some(outcome), budget) = press(&input, format, &settings)? else { continue };
            let counted = fresh_count(&outcome.output, format, &settings.counter);
            prop_assert_eq!(counted, outcome.plan.tokens_after, "{}", outcome.plan.explain());
            prop_assert!(counted <= budget, "{}", outcome.plan.explain());
        }
    }

    #[test]
    fn rule_3_a_conversation_that_fits_is_never_refused(messages in conversation(ANY, "t"), settings in settings()) {
        let input = render(&messages, Format::Bedrock);
        let (outcome, budget) = press(&input, Format::Bedrock, &settings)?;
        let tokens = fresh_count(&input, Format::Bedrock, &settings.counter);
        prop_assert!(outcome.is_some() || tokens > budget, "{} tokens in {} were refused", tokens, budget);
    }

    #[test]
    fn rule_4_untouched_messages_are_equal_and_in_their_order(messages in conversation(ANY, "t"), settings in settings()) {
        for format in Format::ALL {
            let input = render(&messages, format);
            let (Some(outcome), _) = press(&input, format, &settings)? else { continue };
            let conversation = read(&&input, format).unwrap();
            let touched: BTreeSet<usize> = outcome.plan.edits.iter().flat_map(Edit::touches).collect();
            let survivors = check::survivors(&outcome.output);
            prop_assert!(survivors.values().is_sorted());
            for (entry, after) in survivors {
                let (before, mut after) = (&input[entry], outcome.output[after].clone());
                let message = conversation.message_of(entry).unwrap();
                if touched.contains(&message) {
                    for key in ["content", "parts", "output", "reasoning_content", "thinking_blocks"] {
                        if let Some(old) = before.get(key) {
                            after[key] = old.clone();
                        }
                    }
                }
                prop_assert_eq!(&after, before);
            }
            let kept = (0..conversation.messages.len()).filter(|message| !touched.contains(message));
            for entry in kept.flat_map(|message| conversation.messages[message].span.entries()) {
                prop_assert!(outcome.output.as_array().unwrap().contains(&input[entry]), "entry {} is gone", entry);
            }
        }
    }

    #[test]
    fn rule_5_planning_again_changes_nothing(messages in conversation(ANY, "t"), settings in settings()) {
        for format in Format::ALL {
            let input = render(&messages, format);
            let (Some(outcome), budget) = press(&input, format, &settings)? else { continue };
            if outcome.plan.edits.is_empty() {
                continue;
            }
            let engine = engine(&settings.policy, &settings.counter, settings.storing);
            for urgency in URGENCIES {
                let again = compact(&engine, &outcome.output, format, budget, urgency);
                let again = again.map_err(|error| TestCaseError::fail(error.to_string()))?;
                prop_assert!(again.plan.edits.is_empty(), "{}\nand then\n{}", outcome.plan.explain(), again.plan.explain());
                prop_assert_eq!(again.output, outcome.output.clone());
            }
        }
    }

    #[test]
    fn rule_5_the_same_input_gives_the_same_plan(messages in conversation(ANY, "t"), settings in settings()) {
        let input = render(&messages, Format::Bedrock);
        let budget = settings.budget(fresh_count(&input, Format::Bedrock, &settings.counter));
        let make = || engine(&settings.policy, &settings.counter, settings.storing);
        let used = make();
        let plans = [&used, &used, &make()].map(|engine| {
            compact(engine, &input, Format::Bedrock, budget, settings.urgency).map(|outcome| outcome.plan.to_json().to_string())
        });
        prop_assert_eq!(&plans[0], &plans[1]);
        prop_assert_eq!(&plans[0], &plans[2]);
    }

    #[test]
    fn rule_7_no_edit_makes_anything_longer(messages in conversation(ANY, "t"), settings in settings()) {
        let input = render(&messages, Format::Bedrock);
        let (Some(outcome), _) = press(&input, Format::Bedrock, &settings)? else { return Ok(()) };
        for edit in &outcome.plan.edits {
            prop_assert!(edit.tokens_after < edit.tokens_before, "{}", outcome.plan.explain());
        }
    }

    #[test]
    fn rule_7_a_bigger_budget_never_keeps_less(messages in conversation(ANY, "t"), settings in settings()) {
        // The tests of the digest check plans whose lines are chosen from the whole history.
        prop_assume!(!settings.policy.stages.contains(&StageName::Digest));
        let input = render(&messages, Format::Bedrock);
        let mut least = 0;
        for share in (5..=120).step_by(5) {
            let settings = Settings { share, ..settings.clone() };
            let (outcome, budget) = press(&input, Format::Bedrock, &settings)?;
            let Some(outcome) = outcome else {
                prop_assert_eq!(least, 0, "{} is refused, though less was enough", budget);
                continue;
            };
            // Notes aside: what one costs depends on the digits of its reference.
            let notes = outcome.plan.edits.iter().filter(|edit| matches!(edit.action, Action::Remove { .. }));
            let kept = outcome.plan.tokens_after - notes.map(|edit| edit.tokens_after).sum::<usize>();
            prop_assert!(kept >= least, "{} after {}\n{}", kept, least, outcome.plan.explain());
            least = kept;
        }
    }

    #[test]
    fn rule_8_every_format_gives_the_same_plan(messages in conversation(COMMON, "t"), settings in settings()) {
        // With the same references, which the notes name: their letters count.
        let plans = Format::ALL.map(|format| {
            press(&render(&messages, format), format, &settings).map(|(outcome, _)| outcome.map(|outcome| outcome.plan.edits))
        });
        all_equal(plans, &messages)?;
    }

    #[test]
    fn rule_8_old_reasoning_goes_alike_in_every_format(messages in conversation(COMMON, "t"), settings in settings()) {
        all_equal(Format::ALL.map(|format| Ok(prune(&messages, format, &settings))), &messages)?;
    }
}

/// Chat says thinking and words in two fields and forgets which came first, and few formats mark where a cache ends.
#[test]
fn rule_8_a_transcript_has_one_name_in_every_format() {
    let call =
        |id: &str| Block::Call { id: id.to_owned(), tool: "read_file".to_owned(), input: json!({ "path": "a" }) };
    let result =
        |id: &str| Block::Result { id: id.to_owned(), items: vec![crate::support::Item::Text("x ".repeat(2_000))] };
    let thinking = || Block::Thinking { text: "Which file?".to_owned(), signed: true };
    let words = |text: &str| Block::Text(text.to_owned());
    let messages = [
        Message::text("user", "Read the file."),
        Message::new("assistant", vec![words("So:"), thinking(), words("I read it."), call("t-1")]),
        Message { cached: true, ..Message::new("user", vec![result("t-1")]) },
        Message::new("assistant", vec![call("t-2")]),
        Message::new("user", vec![result("t-2")]),
        Message::new("assistant", vec![words("Done.")]),
        Message::text("user", "Thanks."),
    ];
    let policy = Policy { stages: vec![StageName::Window], keep_recent: 1, ..small_policy() };
    let engine = engine(&policy, &exact(), Storing::On);
    let references = Format::ALL.map(|format| {
        let outcome = compact(&engine, &render(&messages, format), format, 200, Urgency::Hard).unwrap();
        outcome.plan.artifacts.into_iter().map(|artifact| artifact.reference).collect::<Vec<_>>()
    });
    assert_eq!(references[0].len(), 1);
    assert!(references.iter().all(|these| *these == references[0]), "{references:?}");
}

#[test]
fn rule_8_an_answer_goes_on_behind_its_calls_where_its_provider_makes_one_turn_of_it() {
    let results = || {
        let result =
            |id: &str| Block::Result { id: id.to_owned(), items: vec![crate::support::Item::Text("x ".repeat(500))] };
        Message::new("user", vec![result("t-1"), result("t-2")])
    };
    let calls = [Message::call("t-1", "read_file"), Message::call("t-2", "read_file")];
    let both = Message::new("assistant", calls.iter().flat_map(|message| message.blocks.clone()).collect());
    let words = Message::text("assistant", "And then?");
    let with_calls = [Message::text("user", "go"), calls[0].clone(), calls[1].clone(), results()];
    let with_words = [Message::text("user", "go"), both, words, results()];
    let engine = engine(&small_policy(), &exact(), Storing::On);
    let planned_in = |messages: &[Message]| -> Vec<Format> {
        let plan = |format: &Format| compact(&engine, &render(messages, *format), *format, 900, Urgency::Hard).ok();
        let plans: Vec<_> = Format::ALL.iter().filter_map(|format| Some((*format, plan(format)?.plan))).collect();
        assert!(plans.iter().all(|(_, plan)| !plan.edits.is_empty() && plan.edits == plans[0].1.edits));
        plans.into_iter().map(|(format, _)| format).collect()
    };
    let expected = [Format::Bedrock, Format::Anthropic, Format::OpenAiResponses, Format::Gemini];
    assert_eq!(planned_in(&with_calls), expected);
    assert_eq!(planned_in(&with_words), expected[1..3]);
}

/// The properties above are worth something: the conversations do make work, of every kind.
#[test]
fn the_generated_conversations_make_work() {
    let mut runner = TestRunner::deterministic();
    let (mut shortened, mut removed, mut refused, mut untouched) = (0, 0, 0, 0);
    for _ in 0..200 {
        let strategy = (conversation(ANY, "t"), settings());
        let (messages, settings) = strategy.new_tree(&mut runner).unwrap().current();
        match press(&render(&messages, Format::Bedrock), Format::Bedrock, &settings).unwrap().0 {
            None => refused += 1,
            Some(outcome) if outcome.plan.edits.is_empty() => untouched += 1,
            Some(outcome) => {
                let removals = outcome.plan.removals().count();
                removed += usize::from(removals > 0);
                shortened += usize::from(outcome.plan.edits.len() > removals);
            }
        }
    }
    let all = [shortened, removed, refused, untouched];
    assert!(all.iter().all(|count| *count >= 20), "shortened, removed, refused, untouched: {all:?}");

    let mut without_reasoning = 0;
    for _ in 0..200 {
        let (messages, settings) = (conversation(COMMON, "t"), settings()).new_tree(&mut runner).unwrap().current();
        let edits = prune(&messages, Format::Bedrock, &settings);
        without_reasoning += usize::from(edits.iter().any(|edit| matches!(edit.action, Action::Drop { .. })));
    }
    assert!(without_reasoning >= 40, "without old reasoning: {without_reasoning}");
}
