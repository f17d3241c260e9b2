//! Settings are checked, and a budget has room for something.

use crate::support::{Message, compact, engine, exact, render, small_policy, undigested};
use serde_json::json;
use ullage::budget::Budget;
use ullage::error::Error;
use ullage::planner::Urgency;
use ullage::policy::{Level, Policy, StageName};
use ullage::store::Storing;
use ullage::wire::Format;

#[test]
fn a_setting_out_of_range_is_named() {
    let base = Policy::default;
    let twice = vec![StageName::Window, StageName::Offload, StageName::Window];
    for (setting, policy) in [
        ("window", Policy { window: 0, ..base() }),
        ("reserve_output", Policy { reserve_output: 200_000, ..base() }),
        ("reserve_output", Policy { reserve_output: usize::MAX, ..base() }),
        ("high", Policy { high: 0.0, ..base() }),
        ("high", Policy { high: -1.0, ..base() }),
        ("high", Policy { high: 1.01, ..base() }),
        ("high", Policy { high: f64::NAN, ..base() }),
        ("high", Policy { high: f64::INFINITY, ..base() }),
        ("low", Policy { low: 0.0, ..base() }),
        ("low", Policy { low: 0.86, ..base() }),
        ("low", Policy { low: f64::NAN, ..base() }),
        ("shrink_to", Policy { shrink_to: 0, ..base() }),
        ("shrink_to", Policy { shrink_to: 2_501, ..base() }),
        ("offload_preview", Policy { offload_preview: 0, ..base() }),
        ("offload_preview", Policy { offload_preview: 401, ..base() }),
        ("compress_to", Policy { compress_to: 0, ..base() }),
        ("escalate", Policy { escalate: Some(0.0), ..base() }),
        ("escalate", Policy { escalate: Some(f64::NAN), ..base() }),
        ("keep_recent_share", Policy { keep_recent_share: 1.1, ..base() }),
        ("max_messages", Policy { max_messages: Some(0), ..base() }),
        ("low_messages", Policy { low_messages: 0.0, ..base() }),
        ("time_limit", Policy { time_limit: 0.0, ..base() }),
        ("levels", Policy { levels: vec![], ..base() }),
        ("levels", Policy { levels: vec![Level { recent: 1.5, ..Level::default() }], ..base() }),
        ("levels", Policy { levels: vec![Level { results: f64::NAN, ..Level::default() }], ..base() }),
        (
            "levels",
            Policy {
                stages: vec![StageName::Window],
                levels: vec![Level { stages: vec![StageName::Prune], ..Level::default() }],
                ..base()
            },
        ),
        ("stages", Policy { stages: vec![], ..base() }),
        ("stages", Policy { stages: twice, ..base() }),
    ] {
        let said = policy.clone().checked();
        assert!(matches!(&said, Err(Error::Policy { setting: named, .. }) if named == setting), "{setting}: {said:?}");
    }
}

#[test]
fn a_setting_at_the_end_of_its_range_is_taken() {
    let base = Policy::default;
    for policy in [
        base(),
        Policy { window: 8_001, ..base() },
        Policy { high: 1.0, low: 1.0, ..base() },
        Policy { keep_first: usize::MAX, keep_recent: usize::MAX, ..base() },
        Policy { compress_to: usize::MAX, ..base() },
        Policy { shrink_to: usize::MAX, shrink_above: usize::MAX, ..base() },
        Policy { offload_preview: usize::MAX, offload_above: usize::MAX, ..base() },
    ] {
        let messages =
            [Message::text("user", "a"), Message::call("c", "bash"), Message::result("c", &"b ".repeat(3_000))];
        let engine = engine(&policy.checked().unwrap(), &exact(), Storing::On);
        let input = render(&messages, Format::Bedrock);
        let outcome = compact(&engine, &input, Format::Bedrock, 2_000, Urgency::Hard);
        assert!(matches!(outcome, Ok(_) | Err(Error::Budget { .. })), "{outcome:?}");
    }
}

#[test]
fn a_policy_is_read_from_json_and_misspellings_are_not() {
    let policy: Policy = serde_json::from_value(json!({ "window": 9_000, "stages": ["window"] })).unwrap();
    assert_eq!(policy, Policy { window: 9_000, stages: vec![StageName::Window], ..Policy::default() });
    for wrong in
        [json!({ "windows": 1 }), json!({ "stages": ["shred"] }), json!({ "window": -1 }), json!({ "high": "1" })]
    {
        assert!(serde_json::from_value::<Policy>(wrong.clone()).is_err(), "{wrong}");
    }
    assert_eq!(Policy::preset("default"), Ok(Policy::default()));
    assert!(Policy::preset("nope").is_err_and(|error| error.to_string().contains("known are: default")));
}

#[test]
fn a_budget_is_what_is_left_or_an_error() {
    let policy = Policy { window: 10_000, reserve_output: 1_000, high: 0.8, low: 0.5, ..Policy::default() };
    assert_eq!(
        Budget::of(&policy, 1_000, 0),
        Ok(Budget { limit: 8_000, high: 6_400, low: 4_000, escalate: 6_400, learned: 0 })
    );
    assert_eq!(Budget::given(1, &policy), Ok(Budget { limit: 1, high: 1, low: 0, escalate: 1, learned: 0 }));
    for refused in [
        Budget::of(&policy, 9_000, 0),
        Budget::of(&policy, 10_001, 0),
        Budget::of(&policy, usize::MAX, usize::MAX),
        Budget::given(0, &policy),
    ] {
        assert!(matches!(refused, Err(Error::NoRoom { .. })), "{refused:?}");
    }
    let largest = Budget::given(usize::MAX, &policy).unwrap();
    assert!(largest.low <= largest.high && largest.high <= largest.limit);
}

#[test]
fn what_reports_say_takes_at_most_three_quarters_of_the_room() {
    let policy = Policy { window: 10_000, reserve_output: 2_000, high: 1.0, low: 1.0, ..Policy::default() };
    for (fixed, reported, limit, learned) in [
        (1_000, 0, 7_000, 0),
        (1_000, 900, 7_000, 0),
        (1_000, 3_000, 5_000, 2_000),
        (1_000, 6_001, 2_000, 5_000),
        (0, usize::MAX, 2_000, 6_000),
        (7_000, usize::MAX, 1_000, 0),
    ] {
        let budget = Budget::of(&policy, fixed, reported).unwrap();
        assert_eq!((budget.limit, budget.learned), (limit, learned), "{fixed} and {reported}");
    }
}

#[test]
fn an_error_says_what_was_learned() {
    let error = |learned| Error::Budget { budget: 900, learned, floor: 1_200, messages: vec![(0, 1_200)] }.to_string();
    assert!(error(15_000).contains("its budget of 900 (15,000 more are kept free for what the provider has reported"));
    assert!(!error(0).contains("kept free"));
}

#[test]
fn a_pin_that_names_no_message_is_refused() {
    let engine = engine(&small_policy(), &exact(), Storing::On);
    let input = render(&[Message::text("user", "a")], Format::Bedrock);
    assert!(engine.read(&&input, None, &[0]).is_ok());
    assert!(matches!(engine.read(&&input, None, &[1]), Err(Error::Conversation { .. })));
}

#[test]
fn an_empty_conversation_is_left_alone() {
    let engine = engine(&small_policy(), &exact(), Storing::On);
    let outcome = compact(&engine, &json!([]), Format::Bedrock, 1, Urgency::Hard).unwrap();
    assert!(outcome.plan.edits.is_empty() && outcome.output == json!([]));
}

#[test]
fn a_plan_explains_itself() {
    let mut messages = vec![Message::text("user", "go"), Message::call("a", "bash")];
    messages.push(Message::result("a", &"all is well\n".repeat(400)));
    messages.extend([Message::text("assistant", &"so ".repeat(400)), Message::text("user", "and now?")]);
    let policy = Policy { keep_recent: 1, ..undigested() };
    let input = render(&messages, Format::Bedrock);
    let engine = engine(&policy, &exact(), Storing::Off);
    let plan = |budget| compact(&engine, &input, Format::Bedrock, budget, Urgency::Hard).unwrap().plan.explain();
    assert_eq!(
        plan(10_000),
        "5 messages, 2,053 tokens; budget 10,000 (starts above 10,000, goes down to 10,000)\nnothing to do\n"
    );
    assert_eq!(
        plan(1_000),
        "5 messages, 2,053 tokens; budget 1,000 (starts above 1,000, goes down to 1,000)\n  \
         compress message 2, block 0: shortened, 1,600 -> 141 tokens (a long tool result; what is needed most in it stays)\n\
         after: 594 tokens, 1,459 saved, 570 to be cached again\n"
    );
    assert_eq!(
        plan(150),
        "5 messages, 2,053 tokens; budget 150 (starts above 150, goes down to 150)\n  \
         window   messages 1 to 3: removed, 2,033 -> 40 tokens (the oldest messages that may go)\n\
         after: 60 tokens, 1,993 saved, 60 to be cached again\n"
    );
}
