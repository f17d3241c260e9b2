//! The ladder of escalation, the window by number of messages, and the time limit.

use crate::support::check::unpaired;
use crate::support::{
    Message, ask, ask_window, compact_in_window, engine, exact, fresh_count, is_long, render, undigested,
};
use serde_json::Value;
use ullage::engine::{Ask, Engine, Summarizer};
use ullage::planner::{Deadline, Plan, SummaryAnswer, Urgency};
use ullage::policy::{Level, Policy, StageName};
use ullage::store::Storing;
use ullage::wire::Format;

/// A task, and so many calls whose results are long.
fn work(steps: usize) -> Vec<Message> {
    let mut messages = vec![Message::text("user", "Do the work.")];
    for step in 0..steps {
        let id = format!("call_{step}");
        messages.push(Message::call(&id, "look"));
        messages.push(Message::result(&id, &format!("finding {step} of many words ").repeat(60)));
    }
    messages.push(Message::text("assistant", "Done."));
    messages
}

fn plan(engine: &Engine, input: &Value, format: Format, ask: Ask<'_>) -> Plan {
    let reading = engine.read(&input, Some(format), &[]).expect("it reads");
    engine.plan(&reading, ask).expect("it fits")
}

/// The edits of a stage.
fn edits(plan: &Plan, stage: StageName) -> usize {
    plan.edits.iter().filter(|edit| edit.stage == stage).count()
}

#[test]
fn every_preset_is_a_policy_that_json_can_say() {
    for name in Policy::PRESETS {
        let preset = Policy::preset(name).expect("it is known");
        assert_eq!(preset.clone().checked(), Ok(preset.clone()), "{name}");
        let text = serde_json::to_string(&preset).expect("it is JSON");
        assert_eq!(serde_json::from_str::<Policy>(&text).expect("it is read"), preset, "{name}");
    }
}

#[test]
fn every_preset_keeps_its_budget_and_a_valid_history() {
    let mut messages = work(30);
    messages[7] = Message::text("assistant", &"I think about it. ".repeat(80));
    messages.remove(8);
    messages.insert(8, Message::text("user", &"And then this, too. ".repeat(40)));
    for name in Policy::PRESETS {
        let preset = Policy::preset(name).expect("it is known");
        for format in Format::ALL {
            let input = render(&messages, format);
            for storing in [Storing::On, Storing::Off] {
                let engine = engine(&preset, &exact(), storing);
                let budgets = [600, 3_000, 1_500, 6_000];
                for &budget in &budgets[..if is_long() { 4 } else { 2 }] {
                    for urgency in [Urgency::Soft, Urgency::Hard] {
                        let what = format!("{name}, {}, {budget}, {urgency:?}", format.name());
                        let outcome = crate::support::compact(&engine, &input, format, budget, urgency);
                        let outcome = outcome.unwrap_or_else(|error| panic!("{what}: {error}"));
                        let after = fresh_count(&outcome.output, format, &exact());
                        assert!(after <= budget && after == outcome.plan.tokens_after, "{what}: {after}");
                        assert_eq!(unpaired(&outcome.output, format), [""; 0], "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_level_runs_only_where_the_ones_before_left_too_much() {
    let level = |stages: &[StageName], results: f64| Level {
        stages: stages.to_vec(),
        results,
        recent: 0.0,
        recent_results: 0.0,
        ..Level::default()
    };
    let results = [StageName::Compress];
    let policy = Policy {
        levels: vec![level(&results, 0.25), level(&results, 0.5), level(&[StageName::Window], 1.0)],
        stages: vec![StageName::Compress, StageName::Window],
        low: 0.01,
        compress_to: 10,
        ..undigested()
    };
    let input = render(&work(40), Format::Bedrock);
    let engine = engine(&policy, &exact(), Storing::Off);
    let at = |budget| plan(&engine, &input, Format::Bedrock, ask(budget, Urgency::Soft));
    let whole = at(1_000_000).tokens_before;
    let [most, more, little] = [whole / 10 * 9, whole / 10 * 7, whole / 10 * 3].map(at);
    assert_eq!(edits(&most, StageName::Compress), 10);
    assert_eq!(edits(&more, StageName::Compress), 20);
    assert_eq!(edits(&most, StageName::Window) + edits(&more, StageName::Window), 0);
    assert!(edits(&little, StageName::Window) > 0);
}

#[test]
fn the_last_results_are_spared_where_the_level_says_so() {
    let level = Level { recent_results: 0.0, keep_results: 5, ..Level::default() };
    let policy = Policy {
        window: 100_000,
        levels: vec![level],
        stages: vec![StageName::Compress],
        high: 0.01,
        low: 0.01,
        compress_to: 10,
        ..undigested()
    };
    for format in Format::ALL {
        let input = render(&work(12), format);
        let plan = plan(&engine(&policy, &exact(), Storing::Off), &input, format, ask_window(Urgency::Soft));
        assert_eq!(plan.edits.len(), 7, "{}", format.name());
    }
}

#[test]
fn too_many_messages_go_down_to_their_share_in_every_format_and_once() {
    let base =
        Policy { window: 1_000_000, max_messages: Some(40), low_messages: 0.5, keep_recent: 4, ..Policy::default() };
    let (many, few) = (work(60), work(19));
    for stages in [vec![StageName::Window], Policy::default().stages] {
        for storing in [Storing::On, Storing::Off] {
            let engine = engine(&Policy { stages: stages.clone(), ..base.clone() }, &exact(), storing);
            for format in Format::ALL {
                let once = compact_in_window(&engine, &render(&many, format), format, Urgency::Soft).expect("it fits");
                let removed: usize = once.plan.removals().map(|messages| messages.len()).sum();
                let count = many.len() - removed + once.plan.removals().count();
                assert!((17..=20).contains(&count), "{}: {count} messages", format.name());
                let again = compact_in_window(&engine, &once.output, format, Urgency::Soft).expect("it fits");
                assert!(again.plan.edits.is_empty(), "{}", format.name());
            }
            let few = render(&few, Format::Bedrock);
            assert!(plan(&engine, &few, Format::Bedrock, ask_window(Urgency::Soft)).edits.is_empty());
        }
    }
}

#[test]
fn recent_messages_are_a_share_of_the_budget_where_that_is_more() {
    let policy = Policy {
        window: 12_000,
        reserve_output: 2_000,
        keep_recent: 2,
        keep_recent_share: 0.3,
        stages: vec![StageName::Window],
        levels: vec![Level::default()],
        high: 0.6,
        low: 0.4,
        ..undigested()
    };
    let messages = work(30);
    let input = render(&messages, Format::Bedrock);
    let engine = engine(&policy, &exact(), Storing::Off);
    let once = compact_in_window(&engine, &input, Format::Bedrock, Urgency::Soft).expect("it fits");
    let end = once.plan.removals().map(|gap| gap.end).max().expect("some go");
    let recent = crate::support::slice(&input, end..messages.len());
    let tokens = fresh_count(&recent, Format::Bedrock, &exact());
    assert!((2_500..4_100).contains(&tokens), "{tokens} tokens are recent");
    let again = compact_in_window(&engine, &once.output, Format::Bedrock, Urgency::Soft).expect("it fits");
    assert!(again.plan.edits.is_empty());
}

#[test]
fn a_later_level_keeps_what_earlier_ones_shortened() {
    let results = Level {
        stages: vec![StageName::Offload, StageName::Compress],
        recent: 0.0,
        recent_results: 0.0,
        ..Level::default()
    };
    let window = Level { stages: vec![StageName::Window], ..Level::default() };
    let stages = vec![StageName::Offload, StageName::Compress, StageName::Window, StageName::Digest];
    let policy = Policy { levels: vec![results, window], keep_recent: 20, stages, ..undigested() };
    let input = render(&work(30), Format::Bedrock);
    let engine = engine(&policy, &exact(), Storing::On);
    for budget in [2_000, 3_000, 6_000] {
        assert!(plan(&engine, &input, Format::Bedrock, ask(budget, Urgency::Soft)).tokens_after <= budget);
    }
}

#[test]
fn fewer_messages_never_take_more_tokens() {
    let messages: Vec<Message> = (0..31)
        .map(|n| Message::text(if n % 2 == 0 { "user" } else { "assistant" }, &format!("Words of step {n}.")))
        .collect();
    for name in ["supyagent", "cyber-autoagent"] {
        let policy = Policy { max_messages: Some(20), ..Policy::preset(name).expect("it is known") };
        for format in Format::ALL {
            let engine = engine(&policy, &exact(), Storing::On).with_summarizer(Summarizer::Present);
            let input = render(&messages, format);
            let reading = engine.read(&&input, Some(format), &[]).expect("it reads");
            let plan = engine.plan(&reading, ask_window(Urgency::Soft)).expect("it fits");
            let said = "A summary. ".repeat(400);
            let plan = engine.resume(&plan, &reading.conversation, SummaryAnswer::Text(&said));
            assert!(plan.tokens_after <= plan.tokens_before, "{name}, {}", format.name());
        }
    }
}

#[test]
fn how_many_messages_stay_does_not_depend_on_the_budget() {
    let policy = Policy { max_messages: Some(40), low_messages: 0.5, keep_recent: 4, ..undigested() };
    let input = render(&work(30), Format::Bedrock);
    let engine = engine(&policy, &exact(), Storing::On);
    let mut least = 0;
    for budget in (1_000..14_000).step_by(250) {
        let plan = plan(&engine, &input, Format::Bedrock, ask(budget, Urgency::Soft));
        assert!(plan.tokens_after + 300 >= least, "{budget}: {} after {least}", plan.tokens_after);
        least = least.max(plan.tokens_after);
    }
}

#[test]
fn more_messages_than_wanted_are_said() {
    let policy = Policy { max_messages: Some(4), keep_recent: 10, ..undigested() };
    let plan = plan(
        &engine(&policy, &exact(), Storing::On),
        &render(&work(12), Format::Bedrock),
        Format::Bedrock,
        ask_window(Urgency::Soft),
    );
    assert!(plan.warnings.iter().any(|warning| warning.contains("more than the limit of 4")), "{:?}", plan.warnings);
}

#[test]
fn out_of_time_the_budget_holds() {
    let input = render(&work(40), Format::Bedrock);
    for policy in [Policy::default(), undigested()] {
        let engine = engine(&policy, &exact(), Storing::On);
        for budget in [2_000, 4_000, 8_000] {
            let asked = Ask { deadline: Deadline::When(&|| true), ..ask(budget, Urgency::Soft) };
            assert!(plan(&engine, &input, Format::Bedrock, asked).tokens_after <= budget);
        }
    }
}

#[test]
fn out_of_time_the_last_level_runs_at_once() {
    let too_little = Level { stages: vec![StageName::Compress], results: 0.05, ..Level::default() };
    let enough = Level { stages: vec![StageName::Compress], recent_results: 0.0, ..Level::default() };
    let last = Level { stages: vec![StageName::Window], recent: 0.0, ..Level::default() };
    let policy = Policy { levels: vec![too_little, enough, last], compress_to: 10, ..undigested() };
    let engine = engine(&policy, &exact(), Storing::Off);
    let input = render(&work(40), Format::Bedrock);
    let windowed = |deadline| {
        let asked = Ask { deadline, ..ask(6_000, Urgency::Soft) };
        edits(&plan(&engine, &input, Format::Bedrock, asked), StageName::Window) > 0
    };
    assert!(!windowed(Deadline::Never));
    assert!(windowed(Deadline::When(&|| true)));
}
