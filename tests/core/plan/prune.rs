//! Superseded content is replaced by a line that says so, and content that the model still needs stays.

use crate::support::{
    Block, Item, Message, Outcome, ask_window, cases, check, compact, compact_in_window, compact_into, engine, exact,
    fresh_count, render, word,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::edit::Action;
use ullage::planner::Urgency;
use ullage::policy::{Policy, StageName};
use ullage::store::{
    MarkStyle, MemoryStore, Reference, Store, Storing, Whereabouts, is_superseded, marked, marked_reference, shown,
    superseded_marked,
};
use ullage::wire::Format;

/// Takes all that it can find: the low mark is out of reach.
fn policy() -> Policy {
    Policy { high: 0.02, low: 0.01, keep_recent: 2, stages: vec![StageName::Prune], ..crate::support::small_policy() }
}

fn prune_with(policy: &Policy, messages: &[Message], format: Format, storing: Storing) -> Outcome {
    prune_entries(policy, &render(messages, format), format, storing)
}

fn prune_entries(policy: &Policy, input: &Value, format: Format, storing: Storing) -> Outcome {
    let engine = engine(policy, &exact(), storing);
    let outcome = compact_in_window(&engine, input, format, Urgency::Soft).expect("it fits as it is");
    assert_eq!(fresh_count(&outcome.output, format, &exact()), outcome.plan.tokens_after, "{}", outcome.plan.explain());
    assert_eq!(check::unpaired(&outcome.output, format), Vec::<String>::new());
    let again = compact_in_window(&engine, &outcome.output, format, Urgency::Soft).expect("it fits");
    assert!(again.plan.edits.is_empty(), "{}\nand then\n{}", outcome.plan.explain(), again.plan.explain());
    outcome
}

fn prune(messages: &[Message], format: Format) -> Outcome {
    prune_with(&policy(), messages, format, Storing::On)
}

/// The lines of ullage in place of outputs.
fn marks(outcome: &Outcome) -> Vec<String> {
    let texts = outcome.plan.edits.iter().filter_map(|edit| match &edit.action {
        Action::Shorten { text, .. } => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}

/// A request, and each call with its result in messages of their own.
fn session(steps: &[(&str, Value, &str)]) -> Vec<Message> {
    let mut messages = vec![Message::text("user", "mend it")];
    for (index, (tool, input, output)) in steps.iter().enumerate() {
        let id = format!("c{index}");
        let call = Block::Call { id: id.clone(), tool: (*tool).to_owned(), input: input.clone() };
        messages.extend([Message::new("assistant", vec![call]), Message::result(&id, output)]);
    }
    messages.push(Message::text("assistant", "done"));
    messages
}

fn read(path: &str) -> Value {
    json!({ "file_path": path })
}

/// A file of so many lines.
fn file(name: &str, lines: std::ops::Range<usize>) -> String {
    let lines: Vec<String> =
        lines.map(|line| format!("    {name}_value_{line} = {}({line}, {name:?})\n", word(line))).collect();
    lines.concat()
}

fn numbered(name: &str, lines: std::ops::Range<usize>) -> String {
    let numbered = file(name, lines.clone())
        .lines()
        .zip(lines)
        .map(|(text, line)| format!("{line:6}\t{text}\n"))
        .collect::<Vec<_>>();
    numbered.concat()
}

fn other() -> (&'static str, Value, &'static str) {
    ("bash", json!({ "command": "date" }), "Sat Nov 21 22:00:00 UTC 2026")
}

#[track_caller]
fn assert_one_mark(outcome: &Outcome, by: &str, gone: &str, stays: &[&str]) {
    let marks = marks(outcome);
    assert_eq!(marks.len(), 1, "{}", outcome.plan.explain());
    assert!(marks[0].starts_with(&format!("[ullage: superseded by {by}; ")), "{}", marks[0]);
    assert!(!marks[0].contains('\n'));
    assert!(outcome.plan.explain().contains(by), "{}", outcome.plan.explain());
    let mut texts = Vec::new();
    check::strings(&outcome.output, &mut texts);
    assert!(texts.contains(&&*marks[0]));
    assert!(!texts.contains(&gone));
    assert!(stays.iter().all(|text| texts.contains(text)), "{}", outcome.output);
    let (reference, content) = &outcome.stored[0];
    assert!(marks[0].contains(reference.as_str()));
    assert_eq!(content, gone.as_bytes());
}

#[test]
fn a_file_that_is_read_again_stands_once() {
    let (old, new) = (file("old", 0..40), file("new", 0..40));
    let steps = [("Read", read("src/a.py"), &*old), other(), ("Read", read("src/a.py"), &*new), other(), other()];
    for format in Format::ALL {
        let outcome = prune(&session(&steps), format);
        assert_one_mark(&outcome, "a later read of src/a.py", &old, &[&new]);
    }
}

#[test]
fn a_part_of_a_file_is_superseded_by_more_of_it_and_by_no_less() {
    let (some, all) = (numbered("a", 10..40), numbered("b", 1..80));
    let range = json!({ "file_path": "a.py", "offset": 10, "limit": 30 });
    let steps = [("Read", range.clone(), &*some), other(), ("Read", read("a.py"), &*all), other()];
    assert_one_mark(&prune(&session(&steps), Format::Anthropic), "a later read of a.py", &some, &[&all]);
    let steps = [("Read", read("a.py"), &*all), other(), ("Read", range, &*some), other()];
    assert!(prune(&session(&steps), Format::Anthropic).plan.edits.is_empty());
}

#[test]
fn what_several_later_reads_show_together_is_superseded() {
    let (all, first, second) = (file("x", 0..60), file("x", 0..30), file("x", 30..60));
    let part = |offset: usize| json!({ "path": "x.py", "offset": offset });
    let steps = [
        ("view", json!({ "path": "x.py" }), &*all),
        ("view", part(0), &*first),
        ("view", part(30), &*second),
        other(),
        other(),
    ];
    assert_one_mark(&prune(&session(&steps), Format::Bedrock), "a later read of x.py", &all, &[&first, &second]);
}

#[test]
fn what_was_edited_since_stays_while_some_of_it_holds() {
    let text = file("e", 0..30);
    let edit = |old: &str, new: &str| json!({ "file_path": "e.py", "old_string": old, "new_string": new });
    let half = file("e", 0..15);
    let steps = [("Read", read("e.py"), &*text), ("Edit", edit(&half, "pass"), "ok"), other(), other()];
    let outcome = prune(&session(&steps), Format::OpenAi);
    assert!(marks(&outcome).is_empty(), "{}", outcome.plan.explain());
    let rest = file("e", 15..30);
    let steps = [
        ("Read", read("e.py"), &*text),
        ("Edit", edit(&half, "pass"), "ok"),
        ("Edit", edit(&rest, "pass"), "ok"),
        other(),
        other(),
    ];
    assert_one_mark(&prune(&session(&steps), Format::OpenAi), "later edits of e.py", &text, &[]);
    let failed = [
        ("Read", read("e.py"), &*text),
        ("Edit", edit(&text, "pass"), "Error: string to replace not found in file"),
        other(),
        other(),
    ];
    assert!(prune(&session(&failed), Format::OpenAi).plan.edits.is_empty());
}

#[test]
fn a_file_that_was_written_since_is_not_as_it_was_read() {
    let (old, new) = (file("w", 0..30), file("v", 0..30));
    let write = json!({ "file_path": "w.py", "content": new });
    let steps = [("Read", read("w.py"), &*old), ("Write", write, "written"), other(), other()];
    let outcome = prune(&session(&steps), Format::Gemini);
    assert_one_mark(&outcome, "a later write of w.py", &old, &[&new]);
}

#[test]
fn the_same_output_stands_once_the_newest() {
    let output = file("same", 0..30);
    let fetch = |n: usize| json!({ "url": format!("https://example.org/{n}") });
    let steps = [("fetch", fetch(1), &*output), ("fetch", fetch(2), &*output), other(), ("fetch", fetch(3), &*output)];
    for format in Format::ALL {
        let outcome = prune(&session(&steps), format);
        assert_eq!(marks(&outcome).len(), 2, "{}", outcome.plan.explain());
        assert!(marks(&outcome).iter().all(|mark| mark.contains("superseded by the same output further down")));
        assert_eq!(outcome.output.to_string().matches("same_value_29").count(), 1);
    }
}

#[test]
fn a_status_is_superseded_by_a_later_one_and_another_question_is_not() {
    let (old, new) = (file("status", 0..30), file("status", 1..31));
    let run = |command: &str| json!({ "command": command });
    let steps = [
        ("bash", run("git status"), &*old),
        ("bash", run("./deploy"), &old[..400]),
        ("bash", run("git status"), &*new),
        ("bash", run("./deploy"), &new[..400]),
        other(),
    ];
    assert_one_mark(&prune(&session(&steps), Format::AiSdk), "a later run of git status", &old, &[&new, &old[..400]]);
    let list = json!({ "path": "src/" });
    let steps = [("listFiles", list.clone(), &*old), other(), ("listFiles", list, &*new), other()];
    assert_one_mark(
        &prune(&session(&steps), Format::AiSdk),
        "a later call of listFiles with the same arguments",
        &old,
        &[&new],
    );
}

#[test]
fn a_failed_call_gives_way_to_its_retry() {
    let error = format!("Traceback (most recent call last):\n{}", file("error", 0..30));
    let run = |command: &str| json!({ "command": command });
    let steps = [
        ("bash", run("cd src && python run.py"), &*error),
        ("bash", run("python other.py"), &error[..900]),
        other(),
        ("bash", run("python run.py 2>&1 | tail -3"), "42"),
        other(),
    ];
    let outcome = prune(&session(&steps), Format::OpenAiResponses);
    assert_one_mark(&outcome, "a later call of bash that went well", &error, &[&error[..900]]);
}

#[test]
fn what_was_written_is_in_the_file() {
    let text = file("long", 0..40);
    let write = json!({ "file_path": "src/long.py", "content": text, "mode": "x", "n": [1, { "a": null }] });
    let several = json!({ "file_path": "b.py", "edits": [
        { "old_string": "a", "new_string": "b" },
        { "old_string": text, "new_string": "c", "replace_all": true },
        { "old_string": "d", "new_string": text },
    ] });
    let failed = json!({ "file_path": "c.py", "content": text });
    let steps = [
        ("Write", write.clone(), "ok"),
        ("MultiEdit", several.clone(), "ok"),
        ("Write", failed.clone(), "Error: no"),
        other(),
        other(),
    ];
    for format in Format::ALL {
        let input = render(&session(&steps), format);
        let outcome = prune(&session(&steps), format);
        assert_eq!(outcome.plan.edits.len(), 2, "{}", outcome.plan.explain());
        let inputs = calls(&outcome.output, format);
        let mut expected = calls(&input, format);
        let line = |went: &str, path: &str, input: &Value, tool: &str| {
            let (length, reference) = (text.chars().count(), Reference::of(tool, input.to_string().as_bytes()));
            assert!(
                outcome
                    .stored
                    .iter()
                    .any(|(stored, content)| { *stored == reference && content == input.to_string().as_bytes() })
            );
            let length = format!("{},{}", length / 1000, length % 1000);
            json!(format!(
                "[ullage: {length} characters {went} {path}; the arguments of this call are stored as {reference}; \
                 retrieve them by that reference]"
            ))
        };
        expected[0]["content"] = line("written to", "src/long.py", &write, "Write");
        expected[1]["edits"][1]["old_string"] = line("replaced in", "b.py", &several, "MultiEdit");
        expected[1]["edits"][2]["new_string"] = line("written to", "b.py", &several, "MultiEdit");
        assert_eq!(inputs, expected, "{}", format.name());
    }
}

/// The arguments of every call, as values.
fn calls(messages: &Value, format: Format) -> Vec<Value> {
    let conversation = ullage::wire::read(&messages, format).expect("it is a conversation");
    let parts = conversation.messages.iter().flat_map(|message| &message.parts);
    let inputs = parts.filter_map(|part| match part {
        ullage::message::Part::Call { input, .. } => Some(serde_json::from_str(input).expect("arguments are JSON")),
        _ => None,
    });
    inputs.collect()
}

fn thinking(signed: bool) -> Block {
    Block::Thinking { text: "hm, let me see ".repeat(20), signed }
}

#[test]
fn reasoning_goes_where_its_turn_is_over_and_nobody_wants_it_back() {
    let call = || Block::Call { id: "c".to_owned(), tool: "bash".to_owned(), input: json!({}) };
    let answer = |block| Message::new("assistant", vec![block, Block::Text("so it is".to_owned())]);
    let messages = [
        Message::text("user", "why?"),
        answer(thinking(false)),
        Message::text("user", "and why is that?"),
        Message::new("assistant", vec![thinking(true), call()]),
        Message::result("c", "ok"),
        answer(thinking(true)),
        Message::text("user", "go on"),
        answer(thinking(false)),
    ];
    for format in Format::ALL {
        let outcome = prune(&messages, format);
        let dropped: Vec<usize> = outcome.plan.edits.iter().map(ullage::edit::Edit::first_message).collect();
        assert_eq!(dropped, [1, 5], "{} {}", format.name(), outcome.plan.explain());
        assert_eq!(outcome.stored.len(), dropped.len());
        assert!(outcome.stored.iter().all(|(_, content)| content.starts_with(b"hm, let me see")));
    }
}

#[test]
fn reasoning_stays_with_what_openai_has_stored_with_it() {
    let answer = Message::new("assistant", vec![thinking(true), Block::Text("so it is".to_owned())]);
    let messages = [
        Message::text("user", &file("q", 0..20)),
        Message { stored: true, ..answer.clone() },
        Message::text("user", "and why is that?"),
        answer,
        Message::text("user", "go on"),
        Message::text("assistant", "done"),
    ];
    for format in Format::ALL {
        let outcome = prune(&messages, format);
        let dropped: Vec<usize> = outcome.plan.edits.iter().map(ullage::edit::Edit::first_message).collect();
        let carries_ids = matches!(format, Format::OpenAiResponses | Format::AiSdk);
        assert_eq!(dropped, if carries_ids { vec![3] } else { vec![1, 3] }, "{}", outcome.plan.explain());
    }
    // Other options of a text bind nothing.
    let options = [
        (json!({ "openai": { "itemId": "msg_1" } }), 0),
        (json!({ "azure": { "itemId": "msg_1", "phase": "final_answer" } }), 0),
        (json!({ "anthropic": { "cacheControl": { "type": "ephemeral" } } }), 1),
        (json!({ "google": { "thoughtSignature": "c2ln" } }), 1),
        (json!({ "x": { "say": "\"itemId\":" } }), 1),
    ];
    for key in ["providerOptions", "providerMetadata"] {
        for (options, dropped) in &options {
            let mut input = render(&messages[..], Format::AiSdk);
            for entry in [1, 3] {
                input[entry]["content"][1] = json!({ "type": "text", "text": "so it is", key: options });
            }
            let outcome = prune_entries(&policy(), &input, Format::AiSdk, Storing::On);
            assert_eq!(outcome.plan.edits.len(), dropped * 2, "{key} {options}");
        }
    }
    // A picture that OpenAI has made is such an item too.
    let said = |text: &str| json!({ "role": "user", "content": text });
    let drawn = json!([
        said(&file("q", 0..20)),
        { "type": "reasoning", "id": "rs_1", "summary": [{ "type": "summary_text", "text": "hm ".repeat(900) }] },
        { "type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "AAAA" },
        { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "there" }] },
        said("and now?"),
        { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "done" }] },
    ]);
    let pruned = |input: &Value| prune_entries(&policy(), input, Format::OpenAiResponses, Storing::On).plan.edits.len();
    assert_eq!(pruned(&drawn), 0);
    let mut free = drawn.clone();
    free[2].as_object_mut().expect("an item").remove("id");
    assert_eq!(pruned(&free), 1);
}

#[test]
fn the_reasoning_of_a_message_goes_as_a_whole() {
    let messages = [
        Message::text("user", "why?"),
        Message::new("assistant", vec![thinking(true), thinking(true), Block::Text("so it is".to_owned())]),
        Message::text("user", "go on"),
        Message::text("assistant", "done"),
    ];
    // One of the two would be enough.
    let near = Policy { high: 1.0, low: 1.0, ..policy() };
    let engine = engine(&near, &exact(), Storing::On);
    for format in Format::ALL {
        let input = render(&messages, format);
        let budget = fresh_count(&input, format, &exact()) - 1;
        let outcome = compact(&engine, &input, format, budget, Urgency::Soft).expect("it fits");
        assert_eq!(outcome.plan.edits.len(), 2, "{}", outcome.plan.explain());
    }
}

#[test]
fn pins_and_what_is_recent_stay() {
    let (old, new) = (file("p", 0..40), file("q", 0..40));
    let steps = [("Read", read("p.py"), &*old), other(), ("Read", read("p.py"), &*new), other()];
    let mut messages = session(&steps);
    messages[2] = messages[2].clone().pinned();
    assert!(prune(&messages, Format::Bedrock).plan.edits.is_empty());
    // With a low mark that is in reach, recent messages are not looked at.
    let near = Policy { keep_recent: 20, high: 0.9, low: 0.8, ..policy() };
    let input = render(&session(&steps), Format::Bedrock);
    let window = fresh_count(&input, Format::Bedrock, &exact()) + near.reserve_output;
    let at = |keep_recent| {
        let near = engine(&Policy { keep_recent, window, ..near.clone() }, &exact(), Storing::On);
        compact_in_window(&near, &input, Format::Bedrock, Urgency::Soft).expect("it fits").plan.edits.len()
    };
    assert_eq!((at(2), at(6)), (1, 1));
}

#[test]
fn parallel_calls_are_told_apart() {
    let (a, b, c) = (file("a", 0..40), file("b", 0..40), file("c", 0..40));
    let call = |id: &str, path: &str| Block::Call { id: id.to_owned(), tool: "Read".to_owned(), input: read(path) };
    let result = |id: &str, text: &str| Block::Result { id: id.to_owned(), items: vec![Item::Text(text.to_owned())] };
    let messages = [
        Message::text("user", "look"),
        Message::new("assistant", vec![call("1", "a.py"), call("2", "b.py")]),
        Message::new("user", vec![result("1", &a), result("2", &b)]),
        Message::new("assistant", vec![call("3", "b.py"), call("4", "d.py")]),
        Message::new("user", vec![result("3", &c), result("4", "nothing")]),
        Message::text("assistant", "done"),
        Message::text("user", "go on"),
    ];
    for format in Format::ALL {
        assert_one_mark(&prune(&messages, format), "a later read of b.py", &b, &[&a, &c]);
    }
}

#[test]
fn without_a_store_only_a_copy_goes_until_there_is_pressure() {
    let (old, new) = (file("n", 0..60), file("m", 0..60));
    let again = json!({ "file_path": "copy.py", "n": 1 });
    let steps = [
        ("Read", read("n.py"), &*old),
        ("Read", read("copy.py"), &*new),
        ("Read", again, &*new),
        ("Read", read("n.py"), &*new),
        other(),
        other(),
    ];
    let whole = fresh_count(&render(&session(&steps), Format::Anthropic), Format::Anthropic, &exact());
    let marks_at = |high: f64| {
        let policy = Policy { window: whole + policy().reserve_output, high, low: high, ..policy() };
        marks(&prune_with(&policy, &session(&steps), Format::Anthropic, Storing::Off))
    };
    let gentle = marks_at(0.6);
    assert!(
        !gentle.is_empty() && gentle.iter().all(|mark| mark.contains("the same output further down")),
        "{gentle:?}"
    );
    assert!(gentle.iter().all(|mark| mark.contains(" was removed to fit the context window]")), "{gentle:?}");
    assert!(marks_at(0.02).iter().any(|mark| mark.contains("a later read of n.py")));
}

#[test]
fn superseded_outputs_get_no_lines_of_a_digest() {
    let (old, new) = (file("old", 0..200), file("new", 0..200));
    let steps = [("Read", read("a.py"), &*old), other(), ("Read", read("a.py"), &*new), other(), other()];
    let policy = Policy { stages: vec![StageName::Prune, StageName::Digest], ..policy() };
    let input = render(&session(&steps), Format::Bedrock);
    let engine = engine(&policy, &exact(), Storing::On);
    let outcome = compact_in_window(&engine, &input, Format::Bedrock, Urgency::Soft).expect("it fits");
    assert_one_mark(&outcome, "a later read of a.py", &old, &[&new]);
}

#[test]
fn the_line_for_what_is_superseded_is_recognised() {
    let reference = Reference::of("Read", b"content");
    let frame = (MarkStyle::Ullage, None);
    let stored = superseded_marked("Read", 1_234, &Whereabouts::Stored(&reference), "a later read of a.py", frame);
    let lost = superseded_marked("Read", 1_234, &Whereabouts::Lost, "a later read of a.py", frame);
    for text in [stored.clone(), format!("{stored}\n")] {
        let found = marked(&text, Storing::On, &[]).expect("it is a mark");
        assert_eq!((found.body, found.reference.as_ref()), ("", Some(&reference)));
        assert_eq!(marked(&text, Storing::On, std::slice::from_ref(&reference)), None);
    }
    assert!(marked(&lost, Storing::Off, &[]).is_some());
    // With a store it leads nowhere, and is text like any other.
    assert_eq!(marked(&lost, Storing::On, &[]), None);
    assert_eq!(marked(&format!("{stored}\nand some words"), Storing::On, &[]), None);
    // No path can end the line, or its reason, early.
    let path = shown("a]\nb; c is stored as read-0123456789abcdef; retrieve it.py");
    let odd = superseded_marked("Read", 1, &Whereabouts::Stored(&reference), &format!("a later read of {path}"), frame);
    assert_eq!(marked_reference(&odd), Some(reference));
    assert!(is_superseded(&odd) && !is_superseded("[ullage: something else]"));
}

/// A result that was stored before keeps its reference, and its content is stored no second time.
#[test]
fn what_was_stored_before_keeps_its_reference() {
    let (old, new) = (file("old", 0..400), file("new", 0..25));
    for style in [MarkStyle::Ullage, MarkStyle::CyberAutoagent, MarkStyle::Valis] {
        let store = MemoryStore::default();
        let policy = Policy { stages: vec![StageName::Offload], offload_preview: 140, marks: style, ..policy() };
        let input = render(&session(&[("Read", read("a.py"), &old), other(), other()]), Format::Anthropic);
        let engine = |policy: &Policy| engine(policy, &exact(), Storing::On);
        let press = |policy: &Policy, input: &Value| {
            let ask = ask_window(Urgency::Soft);
            compact_into(&store, &engine(policy), input, Format::Anthropic, ask).expect("it fits")
        };
        let first = press(&policy, &input);
        let mut longer = first.output.as_array().cloned().unwrap_or_default();
        let later = render(&session(&[("Read", read("a.py"), &new), other(), other()]), Format::Anthropic);
        let renamed =
            later.to_string().replace("\"c", "\"d").replace("\"dontent", "\"content").replace("\"dommand", "\"command");
        longer.extend(serde_json::from_str::<Vec<Value>>(&renamed).expect("a list"));
        let second = press(&Policy { stages: vec![StageName::Prune], ..policy }, &Value::Array(longer));
        let [mark] = &marks(&second)[..] else { panic!("{}", second.plan.explain()) };
        let reference = Reference::of("Read", old.as_bytes());
        assert!(mark.contains("superseded by a later read of a.py") && mark.contains(reference.as_str()), "{mark}");
        assert_eq!(marked_reference(mark), Some(reference.clone()));
        assert!(second.stored.is_empty());
        assert_eq!(**store.get(&reference).expect("it is stored"), *old.as_bytes());
    }
}

/// An agent's work on a few files, for the properties: reads, edits, writes, failures and questions asked again.
#[derive(Debug, Clone)]
enum Step {
    Read { file: u8, from: usize, to: usize, version: u8 },
    Replace { file: u8, from: usize, to: usize },
    Write { file: u8, lines: usize, version: u8 },
    Status { version: u8 },
    Fetch { page: u8 },
    Fail { file: u8 },
    Turn { signed: bool },
}

fn steps() -> impl Strategy<Value = Vec<(Step, bool, bool)>> {
    let span = || (0_usize..3, 1_usize..4).prop_map(|(from, more)| (from * 15, (from + more) * 15));
    let step = prop_oneof![
        4 => (0_u8..3, span(), 0_u8..2).prop_map(|(file, (from, to), version)| Step::Read { file, from, to, version }),
        2 => (0_u8..3, span()).prop_map(|(file, (from, to))| Step::Replace { file, from, to }),
        1 => (0_u8..3, 10_usize..40, 0_u8..2).prop_map(|(file, lines, version)| Step::Write { file, lines, version }),
        1 => (0_u8..2).prop_map(|version| Step::Status { version }),
        1 => (0_u8..3).prop_map(|page| Step::Fetch { page }),
        1 => (0_u8..3).prop_map(|file| Step::Fail { file }),
        1 => any::<bool>().prop_map(|signed| Step::Turn { signed }),
    ];
    // Each may be asked beside the one before it, and its results may be pinned.
    prop::collection::vec((step, prop::bool::weighted(0.3), prop::bool::weighted(0.05)), 1..24)
}

fn conversation_of(steps: &[(Step, bool, bool)]) -> Vec<Message> {
    let mut messages = vec![Message::text("user", "mend it")];
    let mut is_open = false;
    for (index, (step, beside, pinned)) in steps.iter().enumerate() {
        let path = |file: &u8| format!("src/file_{file}.py");
        let lines = |file: &u8, version: &u8, range| self::file(&format!("f{file}_{}", version / 2), range);
        let (tool, input, output) = match step {
            Step::Turn { signed } => {
                let answer = vec![thinking(*signed), Block::Text(format!("done with {index}"))];
                messages.extend([Message::new("assistant", answer), Message::text("user", "and now this")]);
                is_open = false;
                continue;
            }
            Step::Read { file, from, to, version } => {
                let input = json!({ "path": path(file), "offset": from, "limit": to - from });
                ("read_file", input, lines(file, version, *from..*to))
            }
            Step::Replace { file, from, to } => {
                let input = json!({ "path": path(file), "old_str": lines(file, &0, *from..*to), "new_str": "pass" });
                ("edit_file", input, "edited".to_owned())
            }
            Step::Write { file, lines: count, version } => {
                let content = lines(file, version, 0..*count);
                ("write_file", json!({ "path": path(file), "content": content }), "written".to_owned())
            }
            Step::Status { version } => ("git_status", json!({}), self::file(&format!("s{version}"), 0..12)),
            Step::Fetch { page } => ("fetch", json!({ "n": index }), self::file(&format!("p{page}"), 0..12)),
            Step::Fail { file } => {
                ("read_file", json!({ "path": path(file) }), format!("Error: {}", self::file("no", 0..12)))
            }
        };
        let id = format!("t-{index}");
        let call = Block::Call { id: id.clone(), tool: tool.to_owned(), input };
        let result = Block::Result { id, items: vec![Item::Text(output)] };
        match &mut messages[..] {
            [.., asked, answered] if *beside && is_open => {
                asked.blocks.push(call);
                answered.blocks.push(result);
                answered.pinned |= *pinned;
            }
            _ => {
                messages.push(Message::new("assistant", vec![call]));
                messages.push(Message { pinned: *pinned, ..Message::new("user", vec![result]) });
                is_open = true;
            }
        }
    }
    messages.push(Message::text("assistant", "done"));
    messages
}

fn policies() -> impl Strategy<Value = Policy> {
    let stages = prop_oneof![
        3 => Just(vec![StageName::Prune]),
        1 => Just(vec![StageName::Offload, StageName::Compress, StageName::Prune, StageName::Window]),
        1 => Just(vec![StageName::Prune, StageName::Window]),
    ];
    (stages, 0_usize..9).prop_map(|(stages, keep_recent)| Policy { stages, keep_recent, ..policy() })
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn a_pruned_conversation_is_valid_shorter_and_done(
        steps in steps(), policy in policies(), share in 20_usize..130, stores in any::<bool>(), soft in any::<bool>(),
    ) {
        let messages = conversation_of(&steps);
        let storing = if stores { Storing::On } else { Storing::Off };
        let (urgency, policy) = if soft { (Urgency::Soft, policy) } else {
            (Urgency::Hard, Policy { high: 0.8, low: 0.5, ..policy })
        };
        for format in Format::ALL {
            let input = render(&messages, format);
            let whole = fresh_count(&input, format, &exact());
            let engine = engine(&policy, &exact(), storing);
            let budget = whole * share / 100;
            let outcome = match compact(&engine, &input, format, budget, urgency) {
                Err(ullage::error::Error::Budget { .. }) => continue,
                other => other?,
            };
            prop_assert_eq!(fresh_count(&outcome.output, format, &exact()), outcome.plan.tokens_after);
            prop_assert!(outcome.plan.tokens_after <= budget);
            prop_assert_eq!(check::unpaired(&outcome.output, format), Vec::<String>::new());
            let before = check::roles(&input, format).0;
            prop_assert!(check::roles(&outcome.output, format).0 <= before);
            for edit in &outcome.plan.edits {
                prop_assert!(edit.tokens_after < edit.tokens_before, "{}", outcome.plan.explain());
            }
            let same = compact(&engine, &input, format, budget, urgency)?;
            prop_assert_eq!(&same.plan, &outcome.plan);
            let again = compact(&engine, &outcome.output, format, budget, urgency)?;
            prop_assert!(again.plan.edits.is_empty(), "{}\nand then\n{}", outcome.plan.explain(), again.plan.explain());
            for (index, entry) in check::entries(&input).iter().enumerate().filter(|(_, entry)| check::is_pinned(entry)) {
                prop_assert!(check::entries(&outcome.output).contains(entry), "the pin {} is gone", index);
            }
        }
    }

    #[test]
    fn the_newest_copy_stays_and_the_rest_is_in_the_store(steps in steps(), keep_recent in 0_usize..9) {
        let messages = conversation_of(&steps);
        let policy = Policy { keep_recent, ..policy() };
        for format in Format::ALL {
            let outcome = prune_with(&policy, &messages, format, Storing::On);
            let (before, after) = (texts(&render(&messages, format)), texts(&outcome.output));
            let stored: Vec<&[u8]> = outcome.stored.iter().map(|(_, content)| &content[..]).collect();
            for text in before.iter().filter(|text| text.len() > 100) {
                let is_stored = stored.iter().any(|content| {
                    content == &text.as_bytes() || contains(content, serde_json::Value::from(&**text).to_string().as_bytes())
                });
                prop_assert!(after.contains(text) || is_stored, "lost {:?}", text);
            }
            for mark in marks(&outcome).iter().filter(|mark| mark.contains("the same output further down")) {
                let (_, content) = outcome.stored.iter().find(|(reference, _)| mark.contains(reference.as_str())).unwrap();
                let copy = std::str::from_utf8(content).unwrap();
                // Unless a newer form of the copy stands even further down.
                prop_assert!(after.iter().any(|text| text == copy) || marks(&outcome).len() > 1, "{}", mark);
            }
            // The newest read of each file, if nothing was written to it since.
            for file in 0..3 {
                let about = |step: &&(Step, bool, bool)| match &step.0 {
                    Step::Read { file: of, .. } | Step::Replace { file: of, .. } | Step::Write { file: of, .. } => *of == file,
                    Step::Status { .. } | Step::Fetch { .. } | Step::Fail { .. } | Step::Turn { .. } => false,
                };
                if let Some((Step::Read { from, to, version, .. }, ..)) = steps.iter().rev().find(about) {
                    let text = self::file(&format!("f{file}_{}", version / 2), *from..*to);
                    prop_assert!(after.contains(&text), "the newest read of file {} is gone", file);
                }
            }
        }
    }
}

fn contains(content: &[u8], text: &[u8]) -> bool {
    content.windows(text.len().max(1)).any(|window| window == text)
}

/// Every text of a conversation, those in arguments that are JSON included.
fn texts(messages: &Value) -> std::collections::BTreeSet<String> {
    let mut found = std::collections::BTreeSet::new();
    let mut strings = Vec::new();
    check::strings(messages, &mut strings);
    for text in strings {
        if let Ok(value @ Value::Object(_)) = serde_json::from_str::<Value>(text) {
            let mut inside = Vec::new();
            check::strings(&value, &mut inside);
            found.extend(inside.into_iter().map(str::to_owned));
        } else {
            found.insert(text.to_owned());
        }
    }
    found
}
