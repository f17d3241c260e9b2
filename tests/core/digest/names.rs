//! The name of a line that has no room: it appears once, at the end, and never passes for a line.

use std::collections::HashSet;
use std::sync::Arc;

use crate::support::check::strings;
use crate::support::{Block, Message, cases, compact, engine, estimate, exact, fresh_count, render};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::anchors::{AnchorKind, anchors};
use ullage::planner::Urgency;
use ullage::policy::Policy;
use ullage::store::Storing;
use ullage::tokens::CountTokens;
use ullage::wire::Format;

/// The text behind the mark in the heading of names.
const TITLE: &str = " other lines, names only]";

/// Words around a name: what makes its line dear.
const PROSE: &str = "which nobody would ever need to see a second time however long the work goes on";

/// Tokens beside the digest of any session here.
const LEAST: usize = 500;

fn call(number: usize, input: Value, lines: &[String]) -> [Message; 2] {
    let id = format!("c{number}");
    let call = Block::Call { id: id.clone(), tool: "bash".to_owned(), input };
    [Message::new("assistant", vec![call]), Message::result(&id, &lines.join("\n"))]
}

/// Names of every kind.
fn name(kind: u8, seed: u32) -> String {
    match kind {
        0 => format!("/srv/shop/part_{seed}/read-me.md"),
        1 => format!("module.attribute{seed}"),
        2 => format!("do_{seed}_it"),
        3 => format!("{:040x}", u128::from(seed) << 64 | 0xabc),
        4 => format!("{}", u64::from(seed) + 1_000),
        5 => format!("größe_{seed}"),
        _ => format!("[{seed} from other_{seed}]"),
    }
}

/// Outputs of lines with a name each, and a later message of the model that speaks of some.
fn outputs() -> impl Strategy<Value = Vec<Vec<String>>> {
    let line = (0_u8..7, 0_u32..400, 0_usize..PROSE.len());
    let line = line.prop_map(|(kind, seed, length)| format!("{} {}", &PROSE[..length], name(kind, seed)));
    vec(vec(line, 1..40), 4..12)
}

fn session(outputs: &[Vec<String>], first: usize) -> Vec<Message> {
    let task = (first == 0).then(|| Message::text("user", "Have a look."));
    let calls = outputs.iter().enumerate().flat_map(|(at, lines)| {
        let number = first + at;
        call(number, json!({ "command": format!("look {number}") }), lines)
    });
    task.into_iter().chain(calls).collect()
}

fn pressed(input: &Value, share: usize, counter: &Arc<dyn CountTokens>) -> Value {
    let format = Format::Anthropic;
    let budget = (fresh_count(input, format, counter) * share / 100).max(LEAST);
    let policy = Policy { window: 1_000_000, ..Policy::default() };
    let outcome = compact(&engine(&policy, counter, Storing::On), input, format, budget, Urgency::Hard).unwrap();
    let tokens = fresh_count(&outcome.output, format, counter);
    assert_eq!(tokens, outcome.plan.tokens_after);
    assert!(tokens <= budget, "{tokens} of {budget}");
    outcome.output
}

/// The names without lines, and all other text.
fn parts(output: &Value) -> (Vec<String>, Vec<String>) {
    let mut texts = Vec::new();
    strings(output, &mut texts);
    let (mut names, mut others) = (Vec::new(), Vec::new());
    for text in texts {
        match text.split_once(&format!("{TITLE}\n")) {
            Some((before, after)) => {
                let (before, heading) = before.rsplit_once('\n').unwrap();
                assert!(before.contains(&format!("Only {heading} begins a heading:")), "{heading:?}");
                assert!(text.starts_with("[ullage: "), "{text}");
                assert!(!after.contains('\n'), "nothing follows them: {after:?}");
                names.extend(after.split(' ').map(str::to_owned));
                others.push(before.to_owned());
            }
            None => others.push(text.to_owned()),
        }
    }
    (names, others)
}

/// The anchors that `anchors` finds in texts.
fn found(texts: &[String]) -> HashSet<String> {
    let mut found = HashSet::new();
    for text in texts {
        anchors(text, |anchor| {
            found.insert(text[anchor.range].to_owned());
        });
    }
    found
}

/// The names without lines, which are as they must be.
fn checked(output: &Value, known: &HashSet<String>) -> Result<Vec<String>, TestCaseError> {
    let (names, others) = parts(output);
    let elsewhere = found(&others);
    let mut once = HashSet::new();
    for name in &names {
        prop_assert!(known.contains(name), "{name:?} never was a name");
        prop_assert!(!elsewhere.contains(name), "{name:?} stands in a line too");
        prop_assert!(once.insert(name), "{name:?} stands there twice");
        let mut kinds = Vec::new();
        anchors(name, |anchor| kinds.push((anchor.range, anchor.kind)));
        prop_assert!(kinds.len() == 1 && kinds[0].0 == (0..name.len()), "{name:?} is read as another: {kinds:?}");
        prop_assert!(kinds[0].1 != AnchorKind::Number, "{name} says nothing");
    }
    Ok(names)
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn names_stand_once_whatever_is_condensed_and_how_often(
        outputs in outputs(), share in 8_usize..60, guessed in any::<bool>(),
    ) {
        let counter = if guessed { estimate() } else { exact() };
        let mut input = render(&session(&outputs, 0), Format::Anthropic);
        let lines: Vec<String> = outputs.concat();
        let mut known = found(&lines);
        for round in 1..4 {
            let output = pressed(&input, share, &counter);
            let names = checked(&output, &known)?;
            let text = output.to_string();
            prop_assert_eq!(text.matches(TITLE).count(), usize::from(!names.is_empty()));
            known.extend(found(&names));
            input = output;
            let more = render(&session(&outputs, round * outputs.len()), Format::Anthropic);
            input.as_array_mut().unwrap().extend(more.as_array().unwrap().iter().cloned());
        }
    }
}

/// Lines that all cost much more than their names.
fn dear() -> Vec<Vec<String>> {
    let line = |output: usize, line: usize| format!("{PROSE} key_{output}_{line} {PROSE}");
    (0..10).map(|output| (0..30).map(|at| line(output, at)).collect()).collect()
}

#[test]
fn a_small_budget_has_names_where_a_large_one_has_their_lines() {
    let input = render(&session(&dear(), 0), Format::Anthropic);
    let names = |share| parts(&pressed(&input, share, &exact())).0.len();
    assert!(names(10) > 10, "{}", names(10));
    assert_eq!(names(95), 0);
}

#[test]
fn names_that_were_kept_are_kept_again() {
    let input = render(&session(&dear(), 0), Format::Anthropic);
    let mut output = pressed(&input, 10, &exact());
    let (first, _) = parts(&output);
    let before = fresh_count(&output, Format::Anthropic, &exact());
    let more: Vec<Vec<String>> = vec![vec![PROSE.to_owned(); 20]; 10];
    let more = render(&session(&more, 10), Format::Anthropic);
    output.as_array_mut().unwrap().extend(more.as_array().unwrap().iter().cloned());
    let after = fresh_count(&output, Format::Anthropic, &exact());
    let (again, others) = parts(&pressed(&output, before * 100 / after, &exact()));
    let known = again.iter().filter(|name| first.contains(name)).count();
    assert!(known >= 3, "{known} of {}: {again:?}", first.len());
    assert!(others.iter().all(|text| !text.contains(&first[..2].join(" "))), "names became a line: {others:?}");
}

#[test]
fn names_stand_where_a_note_has_room_for_them() {
    let mut messages = session(&dear(), 0);
    messages.push(Message::text("assistant", "All of it was seen."));
    messages.push(Message::text("user", "Remember this.").pinned());
    for number in 10..14 {
        // Of so little that goes no note may be long.
        messages.extend(session(&[vec!["done".to_owned()]], number));
    }
    messages.push(Message::text("assistant", "That is done."));
    messages.push(Message::text("user", "Remember this too.").pinned());
    messages.push(Message::text("assistant", "It is noted."));
    messages.push(Message::text("user", "Go on."));
    let output = pressed(&render(&messages, Format::Anthropic), 10, &exact());
    assert_eq!(output.to_string().matches(" earlier messages are stored").count(), 2, "{output}");
    let (names, _) = parts(&output);
    assert!(names.len() > 10, "{names:?}");
}
