//! Everything that a provider would reject is found and repaired, and nothing is lost that could stay.

use std::ops::Range;

use crate::support::generate::{ANY, Shape, conversation};
use crate::support::{Block, Message, cases, check, render, rewrite, slice};
use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::invariants::Violation;
use ullage::validity::{OpenCalls, Repair, broken, demands_of, provider_says, repair, validate};
use ullage::wire::{Change, Format, read};

fn violations(messages: &Value, format: Format) -> Vec<Violation> {
    validate(&read(&messages, format).expect("it can be read"), demands_of(format))
}

/// Without the calls that this treatment leaves open.
fn violations_but_for(open: OpenCalls, messages: &Value, format: Format) -> Vec<Violation> {
    match open {
        OpenCalls::Wait => broken(&read(&messages, format).expect("it can be read"), demands_of(format)),
        OpenCalls::Answer | OpenCalls::Remove => violations(messages, format),
    }
}

fn rules(messages: &Value, format: Format) -> Vec<&'static str> {
    violations(messages, format).into_iter().map(|violation| violation.rule).collect()
}

fn mend(messages: &Value, format: Format, open: OpenCalls) -> (Value, Vec<Repair>) {
    let conversation = read(&messages, format).expect("it can be read");
    let repaired = repair(&conversation, demands_of(format), open);
    let out = rewrite(&messages, &conversation, format, &repaired.changes).expect("it can be written");
    if repaired.repairs.is_empty() {
        assert!(repaired.changes.iter().all(|change| matches!(change, Change::Keep { .. })), "{:?}", repaired.changes);
    }
    (Value::Array(out), repaired.repairs)
}

/// One way to break a history.
#[derive(Debug, Clone)]
enum Damage {
    Lose(usize),
    Swap(usize, usize),
    Repeat(usize),
    LoseBlock(usize, usize),
    Blank(usize),
    Empty(usize),
    OtherRole(usize, &'static str),
    SameId(usize),
    MoveBlock(usize, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = || any::<prop::sample::Index>().prop_map(|index| index.index(1_000));
    prop_oneof![
        at().prop_map(Damage::Lose),
        (at(), at()).prop_map(|(one, other)| Damage::Swap(one, other)),
        at().prop_map(Damage::Repeat),
        (at(), at()).prop_map(|(message, block)| Damage::LoseBlock(message, block)),
        at().prop_map(Damage::Blank),
        at().prop_map(Damage::Empty),
        (at(), prop::sample::select(vec!["user", "assistant", "system"]))
            .prop_map(|(at, role)| Damage::OtherRole(at, role)),
        at().prop_map(Damage::SameId),
        (at(), at()).prop_map(|(from, to)| Damage::MoveBlock(from, to)),
    ]
}

fn inflict(messages: &mut Vec<Message>, damage: &Damage) {
    let length = messages.len();
    if length == 0 {
        return;
    }
    match *damage {
        Damage::Lose(at) => drop(messages.remove(at % length)),
        Damage::Swap(one, other) => messages.swap(one % length, other % length),
        Damage::Repeat(at) => messages.insert(at % length, messages[at % length].clone()),
        Damage::LoseBlock(at, block) => {
            let blocks = &mut messages[at % length].blocks;
            if !blocks.is_empty() {
                blocks.remove(block % blocks.len());
            }
        }
        Damage::Blank(at) => messages[at % length].blocks.push(Block::Text(" \n".to_owned())),
        Damage::Empty(at) => messages[at % length].blocks.clear(),
        Damage::OtherRole(at, role) => messages[at % length].role = role,
        Damage::SameId(at) => {
            for block in &mut messages[at % length].blocks {
                if let Block::Call { id, .. } | Block::Result { id, .. } = block {
                    "same".clone_into(id);
                }
            }
        }
        Damage::MoveBlock(from, to) => {
            if let Some(block) = messages[from % length].blocks.pop() {
                messages[to % length].blocks.push(block);
            }
        }
    }
}

/// A conversation that was broken so many times.
fn damaged(times: Range<usize>) -> impl Strategy<Value = Vec<Message>> {
    let damages = prop::collection::vec(damage(), times);
    (conversation(Shape { output: 200, ..ANY }, "t"), damages).prop_map(|(mut messages, damages)| {
        for damage in &damages {
            inflict(&mut messages, damage);
        }
        messages
    })
}

fn texts(messages: &Value) -> String {
    let mut strings = Vec::new();
    check::strings(messages, &mut strings);
    strings.join("\n")
}

/// The texts of entries, without names and marks: texts of several words that JSON writes unchanged.
fn said(entries: &Value) -> Vec<String> {
    let mut strings = Vec::new();
    check::strings(entries, &mut strings);
    let is_plain =
        |text: &&str| text.contains(' ') && !text.contains(|c: char| c.is_control() || c == '"' || c == '\\');
    strings.into_iter().map(str::trim).filter(is_plain).map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn what_is_mended_is_taken_and_mended_once(
        messages in damaged(0..6),
    ) {
        for format in Format::ALL {
            let input = render(&messages, format);
            for open in [OpenCalls::Answer, OpenCalls::Remove, OpenCalls::Wait] {
                let (output, repairs) = mend(&input, format, open);
                let left = violations_but_for(open, &output, format);
                prop_assert_eq!(left, vec![], "{}: {:#?}\n{:#}", format.name(), repairs, output);
                prop_assert!(!repairs.is_empty() || violations_but_for(open, &input, format).is_empty());
                if open != OpenCalls::Wait {
                    prop_assert_eq!(check::unpaired(&output, format), Vec::<String>::new(), "{}", format.name());
                }
                let (again, repairs) = mend(&output, format, open);
                prop_assert_eq!(&again, &output, "{}: {:?}", format.name(), repairs);
            }
        }
    }

    #[test]
    fn no_text_is_lost(
        messages in damaged(1..4),
    ) {
        for format in Format::ALL {
            let input = render(&messages, format);
            let (output, repairs) = mend(&input, format, OpenCalls::Answer);
            let (before, after) = (texts(&input), texts(&output));
            for block in messages.iter().flat_map(|message| &message.blocks) {
                if let Block::Text(text) | Block::Thinking { text, .. } = block {
                    prop_assert!(after.contains(text.trim()) || !before.contains(text.as_str()), "{}: {text:?} {:?}", format.name(), repairs);
                }
            }
        }
    }

    #[test]
    fn what_is_pinned_stays_pinned(
        messages in damaged(0..5),
    ) {
        for format in Format::ALL {
            let input = render(&messages, format);
            for open in [OpenCalls::Answer, OpenCalls::Remove] {
                let (output, repairs) = mend(&input, format, open);
                let pinned = |list: &Value| -> Value {
                    check::entries(list).iter().filter(|entry| check::is_pinned(entry)).cloned().collect()
                };
                let (all, after) = (texts(&output), texts(&pinned(&output)));
                for text in said(&pinned(&input)) {
                    prop_assert!(
                        after.contains(&text) || open == OpenCalls::Remove && !all.contains(&text),
                        "{}: {text:?} {repairs:?}\n{input:#}\n{output:#}",
                        format.name()
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_taken_stays_as_it_is(messages in conversation(Shape { irregular: false, output: 200, ..ANY }, "t")) {
        for format in Format::ALL {
            let input = render(&messages, format);
            if violations(&input, format).is_empty() {
                prop_assert_eq!(mend(&input, format, OpenCalls::Answer), (input, vec![]));
            }
        }
    }

    #[test]
    fn a_history_that_is_cut_anywhere_is_mended(messages in conversation(Shape { turns: 2, output: 100, ..ANY }, "t")) {
        for format in Format::ALL {
            let all = render(&messages, format);
            let length = check::entries(&all).len();
            for (start, end) in (0..=length).flat_map(|at| [(at, length), (0, at)]) {
                let (output, _) = mend(&slice(&all, start..end), format, OpenCalls::Answer);
                prop_assert_eq!(violations(&output, format), vec![]);
            }
        }
    }
}

fn ask() -> Message {
    Message::text("user", "go")
}

fn answer() -> Message {
    Message::text("assistant", "done")
}

#[test]
fn every_rule_is_found_and_named() {
    let everywhere = |messages: &[Message], rule: &str| {
        for format in Format::ALL {
            let found = rules(&render(messages, format), format);
            assert!(found.contains(&rule), "{}: {found:?}", format.name());
            assert_ne!(provider_says(rule, format), "");
        }
    };
    everywhere(&[ask(), Message::result("a", "x"), answer()], "result-follows-call");
    everywhere(&[ask(), Message::call("a", "bash"), answer(), ask()], "call-has-result");
    let twice =
        Message::new("assistant", [Message::call("a", "bash").blocks, Message::call("a", "bash").blocks].concat());
    everywhere(&[ask(), twice, Message::result("a", "x"), ask()], "call-ids-unique");

    let only = |messages: &[Message], rule: &str, formats: &[Format]| {
        for format in Format::ALL {
            let found = rules(&render(messages, format), format);
            assert_eq!(found.contains(&rule), formats.contains(&format), "{}: {found:?}", format.name());
        }
    };
    only(&[answer(), ask()], "starts-with-user", &[Format::Bedrock, Format::Anthropic, Format::Gemini]);
    only(&[ask(), ask()], "roles-alternate", &[Format::Bedrock]);
    only(&[Message::text("user", " \n")], "no-blank-text", &[Format::Bedrock, Format::Anthropic]);
    only(
        &[Message::text("system", "be brief"), ask()],
        "system-not-in-messages",
        &[Format::Bedrock, Format::Anthropic, Format::Gemini],
    );
    only(
        &[ask(), Message::call("a", "bash")],
        "call-has-result",
        &[Format::Bedrock, Format::Anthropic, Format::OpenAi, Format::OpenAiResponses, Format::AiSdk],
    );
    let thinking = Message::new("assistant", vec![Block::Thinking { text: "hm".to_owned(), signed: true }]);
    only(&[ask(), thinking], "reasoning-not-last", &[Format::Bedrock, Format::Anthropic]);
}

#[test]
fn an_open_call_is_answered_by_an_error_or_removed() {
    let messages = [ask(), Message::call("a", "bash"), ask()];
    let input = render(&messages, Format::Anthropic);
    let (output, repairs) = mend(&input, Format::Anthropic, OpenCalls::Answer);
    assert_eq!(output[1], input[1]);
    let result = &output[2]["content"][0];
    assert_eq!((&result["tool_use_id"], &result["is_error"]), (&json!("a"), &json!(true)));
    assert_eq!(output[2]["content"][1], json!({ "type": "text", "text": "go" }));
    assert_eq!(repairs.len(), 1);

    let input = render(&messages, Format::Bedrock);
    let (output, _) = mend(&input, Format::Bedrock, OpenCalls::Remove);
    assert_eq!(output.as_array().map(Vec::len), Some(1), "the two requests are one: {output:#}");
}

#[test]
fn a_result_without_a_call_becomes_words() {
    let (output, repairs) = mend(
        &render(&[ask(), answer(), Message::result("a", "the output")], Format::OpenAi),
        Format::OpenAi,
        OpenCalls::Answer,
    );
    assert!(texts(&output).contains("the output"));
    assert_eq!(output[2]["role"], "user");
    assert_eq!((repairs[0].rule, repairs[0].message), ("result-follows-call", 2));
}

#[test]
fn a_late_result_is_put_behind_its_call() {
    let messages = [
        ask(),
        Message::call("a", "bash"),
        Message::text("user", "wait"),
        answer(),
        Message::result("a", "x"),
        answer(),
    ];
    for format in Format::ALL {
        let input = render(&messages, format);
        let (output, _) = mend(&input, format, OpenCalls::Answer);
        assert_eq!(check::unpaired(&output, format), Vec::<String>::new());
        assert!(!texts(&output).contains("never answered"), "{output:#}");
    }
}

#[test]
fn what_is_said_quotes_a_long_id_in_part() {
    let long = "x".repeat(100_000);
    let messages = [ask(), Message::call(&long, &long), ask(), Message::result(&long, "late")];
    for format in Format::ALL {
        let input = render(&messages, format);
        let read = read(&&input, format).expect("it can be read");
        let said = validate(&read, demands_of(format)).into_iter().map(|violation| violation.problem);
        let (_, repairs) = mend(&input, format, OpenCalls::Answer);
        let said: Vec<String> = said.chain(repairs.into_iter().map(|repair| repair.what)).collect();
        assert!(!said.is_empty());
        assert!(said.iter().all(|text| text.len() < 400), "{}", format.name());
    }
    let role = json!([{ "role": long, "content": "hi" }]);
    let error = read(&&role, Format::OpenAi).expect_err("there is no such role");
    assert!(error.to_string().len() < 400, "{error}");
}
