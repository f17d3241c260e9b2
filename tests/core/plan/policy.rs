//! Settings are checked, and a budget has room for something.

use crate::support::{Message, compact, engine, exact, render, small_policy, undigested};
use serde_json::json;
use ullage::budget::{Budget, progressed};
use ullage::error::{Error, Occupant, Result};
use ullage::numbers::share;
use ullage::planner::Urgency;
use ullage::policy::{Level, Policy, Settings, StageName};
use ullage::store::Storing;
use ullage::tokens::ModelLimits;
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
        ("levels[0].recent", Policy { levels: vec![Level { recent: 1.5, ..Level::default() }], ..base() }),
        ("levels[0].results", Policy { levels: vec![Level { results: f64::NAN, ..Level::default() }], ..base() }),
        (
            "levels[0].stages",
            Policy {
                stages: vec![StageName::Window],
                levels: vec![Level { stages: vec![StageName::Prune], ..Level::default() }],
                ..base()
            },
        ),
        ("stages", Policy { stages: vec![], ..base() }),
        ("stages", Policy { stages: twice, ..base() }),
    ] {
        assert_eq!(paths(policy.checked()), [setting]);
    }
}

/// The paths of the settings that are wrong.
fn paths(outcome: Result<Policy>) -> Vec<String> {
    match outcome {
        Err(Error::Settings { problems }) => problems.into_iter().map(|problem| problem.path).collect(),
        other => panic!("{other:?}"),
    }
}

fn changes(value: &serde_json::Value) -> Settings {
    value.as_object().expect("settings by name").clone()
}

#[test]
fn every_wrong_setting_is_reported_once_and_alone_or_together_in_the_same_words() {
    let wrong = [
        ("window", json!(0)),
        ("high", json!(2)),
        ("low", json!(1.5)),
        ("hihg", json!(0.5)),
        ("compressor", json!("klingon")),
        ("max_messages", json!("many")),
        ("stages", json!(["window", "shred", 3])),
        ("levels", json!([{}, { "recent": true, "rung": 1 }, 3, { "results": 7, "stages": ["x"] }])),
    ];
    let message = |settings: &serde_json::Value| Policy::default().replace(changes(settings)).unwrap_err().to_string();
    let mut together = serde_json::Map::new();
    let mut lines = 0;
    for (name, value) in wrong {
        let alone = message(&json!({ name: value }));
        let said: Vec<&str> = alone.lines().map(str::trim).filter(|line| !line.ends_with("wrong:")).collect();
        together.insert(name.to_owned(), value);
        let all = message(&json!(together));
        lines += said.len();
        for line in said {
            // With a high mark that is wrong, the low one is not compared with it.
            let line = line.replace("`high` (0.85)", "1");
            assert_eq!(all.matches(line.as_str()).count(), 1, "{line} in {all}");
        }
        assert_eq!(all.lines().count(), lines + usize::from(lines > 1), "{all}");
    }
}

#[test]
fn the_error_says_where_what_must_be_and_what_is() {
    let error = Policy::default().replace(changes(&json!({
        "hihg": 1,
        "high": 2,
        "stages": ["window", "x"],
        "levels": [{}, {}, { "keep_results": -1 }],
    })));
    assert_eq!(
        error.unwrap_err().to_string(),
        "4 settings are wrong:\n  \
         hihg: there is no such setting; the nearest: high, ceiling, shrink_to\n  \
         stages[1]: must be one of `offload`, `compress`, `prune`, `window`, `digest`, `summarize`, `trim`; got \"x\"\n  \
         levels[2].keep_results: must be a whole number, 0 or more; got -1\n  \
         high: must be above 0 and at most 1; got 2"
    );
}

#[test]
fn a_setting_that_cannot_be_read_is_not_compared_with_others() {
    let base = Policy::default();
    for (given, wrong) in [
        (json!({ "high": "x", "low": 0.9 }), vec!["high"]),
        (json!({ "window": 100, "reserve_output": "x" }), vec!["reserve_output"]),
        (json!({ "stages": 5, "max_messages": 9, "levels": [{ "stages": ["prune"] }] }), vec!["stages"]),
        (json!({ "levels": 3, "stages": ["window"] }), vec!["levels"]),
        (json!({ "high": 0.2, "low": 0.3, "shrink_above": 1 }), vec!["shrink_to", "low"]),
    ] {
        assert_eq!(paths(base.replace(changes(&given))), wrong, "{given}");
    }
}

#[test]
fn a_changed_policy_has_the_changes_and_is_otherwise_the_same() {
    for name in Policy::PRESETS {
        let preset = Policy::preset(name).expect("it is known");
        let whole = serde_json::to_value(&preset).expect("it is JSON");
        assert_eq!(preset.replace(Settings::new()), Ok(preset.clone()));
        for other in Policy::PRESETS.map(|other| Policy::preset(other).expect("it is known")) {
            assert_eq!(other.replace(changes(&whole)), Ok(preset.clone()));
        }
        let changed = preset.replace(changes(&json!({ "keep_recent": 9, "time_limit": 7 })));
        assert_eq!(changed, Ok(Policy { keep_recent: 9, time_limit: 7.0, ..preset }));
    }
}

#[test]
fn levels_are_replaced_by_a_list_and_changed_by_their_number() {
    let preset = Policy::preset("amplifier-smart").expect("it is known");
    let listed = preset.replace(changes(&json!({ "levels": [{ "recent": 0.3 }] }))).unwrap();
    assert_eq!(listed.levels, [Level { recent: 0.3, ..Level::default() }]);
    let mut levels = preset.levels.clone();
    levels[2].recent = 0.3;
    let changed = preset.replace(changes(&json!({ "levels": { "2": { "recent": 0.3 }, "7": {} } })));
    assert_eq!(changed, Ok(Policy { levels, ..preset.clone() }));
    for number in ["8", "-1", "x", ""] {
        let unknown = preset.replace(changes(&json!({ "levels": { number: {} } })));
        assert_eq!(paths(unknown), [format!("levels[{number}]")]);
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
    assert_eq!(Budget::of_limit(1, &policy), Ok(Budget { limit: 1, high: 1, low: 0, escalate: 1, learned: 0 }));
    for refused in [
        Budget::of(&policy, 9_000, 0),
        Budget::of(&policy, 10_001, 0),
        Budget::of(&policy, usize::MAX, usize::MAX),
        Budget::of_limit(0, &policy),
    ] {
        assert!(matches!(refused, Err(Error::NoRoom { .. })), "{refused:?}");
    }
    let largest = Budget::of_limit(usize::MAX, &policy).unwrap();
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
fn the_low_mark_of_a_small_budget_leaves_room_for_an_account() {
    for name in Policy::PRESETS {
        let policy = Policy::preset(name).unwrap();
        let mut before = 0;
        for limit in (0..30_000).step_by(97).skip(1) {
            let Budget { low, high, escalate, .. } = Budget::of_limit(limit, &policy).unwrap().limited(limit, &policy);
            assert!(low >= before, "{name}: {low} of {limit}, {before} of less");
            assert!(low <= escalate && low <= progressed(high), "{name}: {low} of {limit}");
            assert!(low <= share(limit, policy.low).max(share(limit, policy.high * 0.6)), "{name}: {low} of {limit}");
            before = low;
        }
    }
    let low = |limit| Budget::of_limit(limit, &Policy::default()).unwrap().low;
    assert_eq!((low(2_000), low(7_000), low(10_000), low(40_000)), (1_020, 2_500, 2_500, 10_000));
}

#[test]
fn a_window_without_a_reserve_reserves_at_most_a_quarter() {
    for name in Policy::PRESETS {
        let preset = Policy::preset(name).unwrap();
        let usual = preset.reserve_output;
        for window in [1, 3, 4, 2_000, 8_000, 8_192, 16_000, 31_999, 32_000, 1_000_000] {
            let policy = preset.replace(changes(&json!({ "window": window }))).unwrap();
            assert_eq!(policy, preset.clone().in_window(window), "{name}, {window}");
            assert_eq!(policy.reserve_output, usual.min(window / 4), "{name}, {window}");
            assert_eq!(
                policy.replace(changes(&json!({ "high": policy.high }))),
                Ok(policy.clone()),
                "{name}, {window}"
            );
            let given = preset.replace(changes(&json!({ "window": window, "reserve_output": window - 1 })));
            assert_eq!(given.map(|policy| policy.reserve_output), Ok(window - 1), "{name}, {window}");
        }
    }
    for window in [4_000, 8_192, 64_000] {
        let limits = ModelLimits { window, max_input: window, max_output: None };
        assert_eq!(Policy::for_limits(limits, None), Policy::default().in_window(window));
    }
}

#[test]
fn an_error_says_what_was_learned() {
    let cause = Occupant { index: 0, name: Some("the first request"), content: "is pinned".to_owned() };
    let error = |learned| {
        let messages = vec![(0, 1_200)];
        Error::Budget { budget: 900, learned, floor: 1_200, messages, cause: Some(cause.clone()) }.to_string()
    };
    assert!(error(15_000).contains("its budget of 900 (15,000 more are kept free, because the provider counts them"));
    assert!(!error(0).contains("kept free"));
    assert!(error(0).ends_with("(the first request is pinned)"), "{}", error(0));
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
         compress message 2, block 0: shortened, 1,600 -> 61 tokens (a long tool result; its most useful lines stay)\n\
         after: 514 tokens, 1,539 saved, 490 to be cached again\n"
    );
    assert_eq!(
        plan(150),
        "5 messages, 2,053 tokens; budget 150 (starts above 150, goes down to 150)\n  \
         window   messages 1 to 3: removed, 2,033 -> 39 tokens (the oldest messages that may be removed)\n\
         after: 59 tokens, 1,994 saved, 59 to be cached again\n"
    );
}
