//! A compaction that was due gets away from its mark, or the report says why not.

use crate::support::{Block, Message, compact_in_window, engine, estimate, render};
use ullage::budget::{Budget, progressed};
use ullage::planner::{Plan, Urgency};
use ullage::policy::Policy;
use ullage::store::Storing;
use ullage::wire::Format;

const STEPS: usize = 60;
const WINDOW: usize = 12_000;

/// The messages of the assistant that begin with a signed thought.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Thoughts {
    Every,
    First,
    Never,
}

fn step(number: usize, thoughts: Thoughts) -> [Message; 2] {
    let id = format!("t-{number}");
    let mut call = Message::call(&id, "bash");
    if thoughts == Thoughts::Every || thoughts == Thoughts::First && number == 0 {
        let text = format!("The module {number} has to be looked at before the next one.");
        call.blocks.insert(0, Block::Thinking { text, signed: true });
    }
    let output: String =
        (0..12).map(|line| format!("src/part_{number}.py:{line}: value_{line} = {number}\n")).collect();
    [call, Message::result(&id, &output)]
}

/// The plans of a conversation that is compacted whenever it is due. Of the budget, `pinned` is pinned.
fn hovering(policy: &Policy, thoughts: Thoughts, pinned: f64) -> Vec<Plan> {
    let engine = engine(policy, &estimate(), Storing::On);
    let limit = Budget::of(policy, 0, 0).expect("a window").limit;
    let words = ullage::numbers::share(limit, pinned);
    let mut messages =
        render(&[Message::text("user", "Check every module."), Message::text("assistant", "Yes.")], Format::Anthropic);
    let kept = Message::text("user", &"one more word ".repeat(words / 4)).pinned();
    messages.as_array_mut().unwrap().extend(render(&[kept], Format::Anthropic).as_array().unwrap().clone());
    let mut plans = Vec::new();
    for number in 0..STEPS {
        let new = render(&step(number, thoughts), Format::Anthropic);
        messages.as_array_mut().unwrap().extend(new.as_array().unwrap().clone());
        let outcome = compact_in_window(&engine, &messages, Format::Anthropic, Urgency::Soft).expect("it fits");
        messages = outcome.output;
        plans.push(outcome.plan);
    }
    plans
}

#[test]
fn no_session_at_its_mark_is_compacted_on_every_turn() {
    let mut waited = 0;
    for name in Policy::PRESETS {
        let policy = Policy::preset(name).unwrap().in_window(WINDOW);
        for thoughts in [Thoughts::Every, Thoughts::First, Thoughts::Never] {
            for pinned in [0.0, policy.high - 0.12, policy.high - 0.02] {
                let plans = hovering(&policy, thoughts, pinned);
                let (mut in_a_row, mut compactions) = (0, 0);
                for plan in &plans {
                    let what = format!("{name}, {thoughts:?}, {pinned:.2}: {}", plan.explain());
                    let (before, after) = (plan.tokens_before, plan.tokens_after);
                    let says_why = plan.warnings.first().is_some_and(|why| why.starts_with("a compaction saves"));
                    let is_due = before > plan.budget.high;
                    assert!(!is_due || after <= progressed(before) || says_why, "{what}");
                    let compacts = !plan.edits.is_empty();
                    in_a_row = if compacts { in_a_row + 1 } else { 0 };
                    assert!(in_a_row < 3 || before > plan.budget.limit, "three in a row, {what}");
                    waited += usize::from(says_why && !compacts);
                    compactions += usize::from(compacts && before <= plan.budget.limit);
                }
                assert!(compactions <= STEPS / 3, "{name}, {thoughts:?}, {pinned:.2}: {compactions} compactions");
            }
        }
    }
    assert!(waited > 0, "no session was at its mark");
}

#[test]
fn a_compaction_for_the_number_of_messages_removes_enough_or_waits() {
    let policy = Policy { max_messages: Some(40), ..Policy::default() };
    let engine = engine(&policy, &estimate(), Storing::On);
    let mut messages: Vec<Message> = (0..38).map(|n| Message::text("user", &format!("Keep {n}.")).pinned()).collect();
    let mut rendered = render(&messages, Format::Anthropic);
    let mut compactions = 0;
    for number in 0..STEPS {
        let role = if number % 2 == 0 { "assistant" } else { "user" };
        messages = vec![Message::text(role, &format!("{number} more"))];
        rendered.as_array_mut().unwrap().extend(render(&messages, Format::Anthropic).as_array().unwrap().clone());
        let outcome = compact_in_window(&engine, &rendered, Format::Anthropic, Urgency::Soft).expect("it fits");
        compactions += usize::from(!outcome.plan.edits.is_empty());
        rendered = outcome.output;
    }
    assert!((1..STEPS / 4).contains(&compactions), "{compactions} compactions");
}
