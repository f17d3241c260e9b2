//! Any JSON, as a conversation in every format: nothing panics, and what can be read can be mended, planned and written.

use crate::support::nearly::{ENTRIES, NAMES, WORDS};
use crate::support::{ask, cases, compact, engine, exact, rewrite, small_policy};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value};
use ullage::error::Error;
use ullage::planner::Urgency;
use ullage::store::Storing;
use ullage::validity::{OpenCalls, demands_of, repair, validate};
use ullage::wire::{Format, detect_format, format_to_read, read};

fn tree() -> impl Strategy<Value = Value> {
    let word = || prop::sample::select(WORDS).prop_map(Value::from);
    let leaf = prop_oneof![8 => word(), 1 => Just(Value::Null), 1 => any::<i32>().prop_map(Value::from), 1 => any::<bool>().prop_map(Value::from)];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((prop::sample::select(NAMES), inner), 0..6).prop_map(|fields| {
                Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
            }),
        ]
    })
}

/// A list of what is nearly messages of a format: in any order, and now and then with something else in a place.
fn messages() -> impl Strategy<Value = Value> {
    let entry = |of: usize| (prop::sample::select(ENTRIES[of]), prop::option::weighted(0.12, (any::<usize>(), tree())));
    let entries = (0..ENTRIES.len()).prop_flat_map(move |of| prop::collection::vec(entry(of), 0..8));
    entries.prop_map(|entries| {
        let damaged = entries.into_iter().map(|(text, damage)| {
            let mut entry: Value = serde_json::from_str(text).expect("it is JSON");
            if let Some((at, tree)) = damage {
                let mut places = count(&entry);
                places = at % places;
                replace(&mut entry, &mut places, &mut Some(tree));
            }
            entry
        });
        Value::Array(damaged.collect())
    })
}

/// Number of values in a value, itself among them.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum::<usize>(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// Puts something else in the place of the value so many places further on.
fn replace(value: &mut Value, places: &mut usize, with: &mut Option<Value>) {
    if *places == 0 {
        if let Some(with) = with.take() {
            *value = with;
        }
        return;
    }
    *places -= 1;
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, places, with)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace(field, places, with)),
        _ => {}
    }
}

fn check(messages: &Value) -> Result<(), TestCaseError> {
    let _ = detect_format(&messages); // Either answer is fine.
    let _ = format_to_read(&messages);
    for format in Format::ALL {
        let Ok(conversation) = read(&messages, format) else { continue };
        let repaired = repair(&conversation, demands_of(format), OpenCalls::Answer);
        let mended =
            Value::Array(rewrite(&messages, &conversation, format, &repaired.changes).expect("it can be written"));
        let again = read(&&mended, format);
        let again = again.map_err(|error| TestCaseError::fail(format!("{}: {error}\n{mended:#}", format.name())))?;
        prop_assert_eq!(validate(&again, demands_of(format)), vec![], "{}\n{:#}", format.name(), mended);
        let engine = engine(&small_policy(), &exact(), Storing::On);
        let reading = engine.read(&&mended, Some(format), &[]).expect("what was read is read again");
        prop_assert!(engine.plan(&reading, ask(1_000_000, Urgency::Soft)).is_ok());
        for budget in [10, 60, 300] {
            match compact(&engine, &mended, format, budget, Urgency::Hard) {
                Ok(outcome) => {
                    let left = read(&&outcome.output, format).expect("what is left can be read");
                    prop_assert_eq!(
                        validate(&left, demands_of(format)),
                        vec![],
                        "{}\n{:#}",
                        format.name(),
                        outcome.output
                    );
                }
                Err(error) => prop_assert!(matches!(error, Error::Budget { .. }), "{}", error),
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn any_tree_is_read_or_refused(tree in tree()) {
        check(&tree)?;
    }

    #[test]
    fn what_is_nearly_a_conversation_is_read_or_refused(messages in messages()) {
        check(&messages)?;
    }
}

/// The properties above are worth something: many trees are read in every format, and many are mended.
#[test]
fn the_trees_reach_every_format() {
    let mut runner = TestRunner::deterministic();
    let (mut read_in, mut mended_in) = ([0; Format::ALL.len()], [0; Format::ALL.len()]);
    for _ in 0..3_000 {
        let messages = messages().new_tree(&mut runner).expect("there are trees").current();
        for (index, format) in Format::ALL.into_iter().enumerate() {
            let Ok(conversation) = read(&&messages, format) else { continue };
            read_in[index] += usize::from(!conversation.messages.is_empty());
            let repaired = repair(&conversation, demands_of(format), OpenCalls::Answer);
            mended_in[index] += usize::from(!repaired.repairs.is_empty());
        }
    }
    assert!(read_in.iter().chain(&mended_in).all(|count| *count >= 150), "read {read_in:?}, mended {mended_in:?}");
}
