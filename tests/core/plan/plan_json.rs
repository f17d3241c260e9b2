//! A plan is JSON and can be replayed: what is read back is the same plan, and what no engine wrote is refused.

use crate::support::generate::{ANY, conversation, settings};
use crate::support::{Message, ask, cases, compact, engine, exact, fresh_count, render, small_policy};
use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::engine::{apply, check, content};
use ullage::error::Error;
use ullage::planner::{Plan, Urgency};
use ullage::policy::{Policy, StageName};
use ullage::store::Storing;
use ullage::wire::Format;

/// Another process knows no more than the text.
fn through_text(plan: &Plan) -> Plan {
    Plan::from_json(&serde_json::from_str(&plan.to_json().to_string()).unwrap()).unwrap()
}

/// Applies a plan and reads what it stores, as a host does.
fn replay(plan: &Plan, messages: &Value) -> Result<(), Error> {
    let conversation = check(plan, &messages)?;
    for artifact in &plan.artifacts {
        content(plan, &conversation, &artifact.source, &messages)?;
    }
    apply(plan, &messages).map(drop)
}

/// Every number and list in `value`, by its pointer.
fn leaves(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            out.push(at.to_owned());
            fields.iter().for_each(|(name, field)| leaves(field, &format!("{at}/{name}"), out));
        }
        Value::Array(elements) => {
            out.push(at.to_owned());
            elements.iter().enumerate().for_each(|(index, element)| leaves(element, &format!("{at}/{index}"), out));
        }
        _ => out.push(at.to_owned()),
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn what_is_read_back_is_the_same_plan(messages in conversation(ANY, "t"), settings in settings()) {
        for format in Format::ALL {
            let input = render(&messages, format);
            let budget = settings.budget(fresh_count(&input, format, &settings.counter));
            let engine = engine(&settings.policy, &settings.counter, settings.storing);
            let Ok(outcome) = compact(&engine, &input, format, budget, settings.urgency) else { continue };
            let again = through_text(&outcome.plan);
            prop_assert_eq!(&again, &outcome.plan);
            prop_assert_eq!(again.to_json(), outcome.plan.to_json());
            prop_assert_eq!(Value::Array(apply(&again, &&input).unwrap()), outcome.output);
        }
    }

    #[test]
    fn a_forged_plan_never_panics(
        messages in conversation(ANY, "t"),
        settings in settings(),
        picked in any::<prop::sample::Index>(),
        forged in prop::sample::select(vec![
            json!(0), json!(1), json!(7), json!(u64::MAX), json!(-1), json!(1.5), json!(null), json!("x"), json!([]), json!([0, 9]),
            json!({}),
        ]),
    ) {
        for format in Format::ALL {
            let input = render(&messages, format);
            let budget = settings.budget(fresh_count(&input, format, &settings.counter));
            let engine = engine(&settings.policy, &settings.counter, settings.storing);
            let Ok(outcome) = compact(&engine, &input, format, budget, settings.urgency) else { continue };
            let mut data = outcome.plan.to_json();
            let mut places = Vec::new();
            leaves(&data["replay"], "/replay", &mut places);
            let place: &String = picked.get(&places);
            *data.pointer_mut(place).unwrap() = forged.clone();
            match Plan::from_json(&data) {
                Err(error) => prop_assert!(error.to_string().contains("replay"), "{}", error),
                Ok(plan) => {
                    // Neither of these may panic, whatever they say.
                    let _ = (plan.to_json(), plan.report(), plan.explain(), replay(&plan, &input));
                }
            }
        }
    }
}

fn plan() -> (Plan, Value) {
    let mut messages = vec![Message::text("user", "Read all of it.")];
    for step in 0..8 {
        let id = format!("t-{step}");
        messages.push(Message::call(&id, "read_file"));
        messages.push(Message::result(&id, &format!("{step} of many words ").repeat(200)));
    }
    messages.push(Message::text("assistant", "Done."));
    let input = render(&messages, Format::Bedrock);
    let policy = Policy { stages: vec![StageName::Offload, StageName::Window], ..small_policy() };
    let engine = engine(&policy, &exact(), Storing::On);
    let reading = engine.read(&&input, Some(Format::Bedrock), &[]).unwrap();
    let plan = engine.plan(&reading, ask(900, Urgency::Hard)).unwrap();
    (plan, input)
}

#[test]
fn an_error_names_the_key_that_is_wrong() {
    let (plan, _) = plan();
    assert!(!plan.edits.is_empty() && !plan.artifacts.is_empty());
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut data = plan.to_json();
        change(&mut data);
        match Plan::from_json(&data) {
            Err(Error::Policy { setting, .. }) => setting,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(&|data| *data = json!({})), "replay");
    assert_eq!(refused(&|data| *data = json!([1])), "replay");
    assert_eq!(refused(&|data| data["replay"] = json!(3)), "replay");
    assert_eq!(refused(&|data| data["replay"]["format"] = json!("morse")), "replay.format");
    assert_eq!(refused(&|data| data["replay"]["fingerprint"] = json!("+1")), "replay.fingerprint");
    assert_eq!(refused(&|data| data["replay"]["tokens_after"] = json!("many")), "replay.tokens_after");
    assert_eq!(refused(&|data| data["replay"]["edits"][0]["stage"] = json!("shred")), "replay.edits[0]");
    assert_eq!(refused(&|data| data["replay"]["artifacts"][0]["reference"] = json!("../x")), "replay.artifacts[0]");
    assert_eq!(refused(&|data| data["replay"]["spans"][1]["first"] = json!(0)), "replay.spans");
    assert_eq!(
        refused(&|data| data["replay"]["pending"] = json!({"edit": 99, "room": 1, "tokens": 1})),
        "replay.pending"
    );
    let twice = |data: &mut Value| {
        let edit = data["replay"]["edits"][0].clone();
        data["replay"]["edits"].as_array_mut().unwrap().insert(0, edit);
    };
    assert!(refused(&twice).starts_with("replay.edits["));
    let missing = |data: &mut Value| drop(data["replay"].as_object_mut().unwrap().shift_remove("budget"));
    assert_eq!(refused(&missing), "replay.budget");
}

#[test]
fn a_place_that_the_messages_do_not_have_is_refused_when_it_is_applied() {
    let (plan, input) = plan();
    let mut data = plan.to_json();
    let forge = |value: &mut Value| {
        for edit in value.as_array_mut().unwrap() {
            if let Some(place) = edit.pointer_mut("/action/shorten/place") {
                place["part"] = json!(5);
            }
        }
    };
    forge(&mut data["replay"]["edits"]);
    let forged = Plan::from_json(&data).unwrap();
    assert_ne!(forged, plan, "there was nothing to forge");
    assert!(matches!(replay(&forged, &input), Err(Error::Conversation { .. })));
    assert!(replay(&plan, &input).is_ok());
}

#[test]
fn other_messages_are_refused_as_ever() {
    let (plan, mut input) = plan();
    input[0]["content"][0]["text"] = json!("Something else.");
    assert_eq!(replay(&through_text(&plan), &input), Err(Error::Changed));
}
