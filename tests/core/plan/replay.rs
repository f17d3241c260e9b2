//! The needs of a session after a cut, by hand and over generated conversations.

use std::sync::Arc;

use crate::support::generate::{ANY, conversation};
use crate::support::{cases, render};
use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::ledger::Ledger;
use ullage::message::{Conversation, Text};
use ullage::replay::{Continuity, Coverage, CutRules, Help, Needs, Retention, Share, cuts, line_cover, window};
use ullage::tokens::{Encoding, Exact};
use ullage::wire::{Format, read};

/// The cut of [`session`].
const CUT: usize = 5;

fn call(id: &str, name: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]})
}

fn edit(id: &str, old: &str) -> Value {
    call(id, "Edit", &json!({"file_path": "/srv/app.py", "old_string": old, "new_string": "pass"}))
}

/// Four anchors and one edit are needed after the cut.
fn session() -> Value {
    json!([
        {"role": "user", "content": "Mend app.py, please; keep given_name."},
        {"role": "assistant", "content": [call("a", "Read", &json!({"file_path": "/srv/app.py"}))]},
        result("a", "   1→def load_config(path):\n   2→    return read_toml(path)\n   3→limit = 4096\n   4→helper_name = 1"),
        {"role": "assistant", "content": [{"type": "text", "text": "And now?"}, call("b", "Bash", &json!({"command": "ls"}))]},
        result("b", "main_test.py\nother_file.py\ngiven_name"),
        // Needs load_config, 4096 and read_toml, and the two lines of the edit.
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "main_test.py", "signature": "x"},
            {"type": "text", "text": "load_config has 4096, /srv/app.py and given_name."},
            edit("c", "def load_config(path):\n\n    return read_toml(path)\n"),
        ]},
        result("c", "helper_name is fine. limit = 4096\nlimit = 4096"),
        // Needs other_file.py; helper_name was shown again, and so was the line of the edit.
        {"role": "assistant", "content": [
            {"type": "text", "text": "helper_name, other_file.py"}, edit("d", "limit = 4096"), edit("e", "never_seen = 1")]},
    ])
}

fn needs(session: &Value, cut: usize) -> Needs {
    Needs::of(&read(&session, Format::Anthropic).unwrap(), cut)
}

/// The names and edits of a retention, without what is measured beside them.
fn counted(kept: Retention) -> Retention {
    Retention { help: Help::default(), continuity: Continuity::default(), ..kept }
}

/// The other shares that are measured.
fn shares(kept: Retention) -> [Share; 8] {
    let Help { acts_near, acts_far, words_near, words_far } = kept.help;
    let Continuity { sentences, tasks, files, user_words } = kept.continuity;
    [acts_near, acts_far, words_near, words_far, sentences, tasks, files, user_words]
}

fn shown(texts: &[&str]) -> Coverage {
    let mut shown = Coverage::default();
    for text in texts {
        shown.add_text(text);
    }
    shown
}

fn whole<T: Text>(conversation: &Conversation<T>, cut: usize) -> Coverage {
    let mut shown = Coverage::default();
    conversation.messages[..cut].iter().for_each(|message| shown.add_message(message));
    shown
}

#[test]
fn what_is_needed_is_what_a_tool_said_first_and_the_model_repeats_first() {
    let needs = needs(&session(), CUT);
    assert_eq!(needs.lost(&Coverage::default()), ["load_config", "4096", "read_toml", "other_file.py"]);
}

#[test]
fn a_name_is_not_its_line_and_a_line_not_the_edit() {
    let needs = needs(&session(), CUT);
    let all = Retention { needed: 4, edits: 1, ..Retention::default() };
    for (texts, kept) in [
        (&["load_config, 4096"][..], Retention { anchors: 2, recoverable: 2, ..all }),
        // With another number in front, or none, and at another depth.
        (&["17: 1→def load_config(path):"], Retention { anchors: 1, lines: 1, recoverable: 1, ..all }),
        (
            &["def load_config(path):", "  2\treturn read_toml(path)"],
            Retention { anchors: 2, lines: 2, recoverable: 2, grounded: 1, ..all },
        ),
        (&["return read_toml(path) # and more"], Retention { anchors: 1, recoverable: 1, ..all }),
    ] {
        assert_eq!(counted(needs.kept_in(&shown(texts), &Coverage::default())), kept, "{texts:?}");
    }
    let stored = shown(&["{\"content\":\"main_test.py\\nother_file.py\"}", "load_config"]);
    let kept = needs.kept_in(&shown(&["load_config"]), &stored);
    assert_eq!(counted(kept), Retention { anchors: 1, recoverable: 2, ..all });
    assert_eq!(needs.lost(&shown(&["load_config"])), ["4096", "read_toml", "other_file.py"]);
}

#[test]
fn old_text_is_found_wherever_an_editor_takes_it() {
    let line = "x = known_name";
    for arguments in [
        json!({"edits": [{"old_string": line, "new_string": ""}]}),
        json!({"command": "str_replace", "old_str": line}),
        json!({"changes": {"a.py": [{"oldText": line}]}}),
    ] {
        let session = json!([
            {"role": "user", "content": "Go on."},
            {"role": "assistant", "content": [call("a", "Read", &json!({}))]},
            result("a", line),
            {"role": "assistant", "content": [call("b", "Any", &arguments)]},
            result("b", "done"),
        ]);
        let needs = needs(&session, 3);
        assert_eq!(needs.kept_in(&shown(&[line]), &Coverage::default()).grounded, 1, "{arguments}");
        assert_eq!(needs.kept_in(&Coverage::default(), &Coverage::default()).edits, 1, "{arguments}");
    }
}

#[test]
fn a_session_is_cut_in_front_of_the_model_where_it_is_long_enough() {
    let mut messages = vec![json!({"role": "user", "content": "Count."})];
    for step in 0..40 {
        messages.push(json!({"role": "assistant", "content": [call(&format!("t{step}"), "Run", &json!({}))]}));
        messages.push(result(&format!("t{step}"), &"word ".repeat(100)));
    }
    let messages = Value::Array(messages);
    let conversation = read(&&messages, Format::Anthropic).unwrap();
    let measured = Ledger::new(Arc::new(Exact::new(Encoding::O200kBase))).measure(&conversation);
    let before = |cut: usize| (0..cut).map(|message| measured.message(message)).sum::<usize>();
    let found = cuts(&conversation, &measured, CutRules::at(1_000));
    assert_eq!(found.len(), 4);
    for (cut, wanted) in found.iter().zip([1_000, 1_250, 1_500, 1_750]) {
        assert!(cut % 2 == 1 && before(*cut) >= wanted && before(*cut - 2) < wanted, "{cut}");
    }
    // The last 20 messages are left to be measured by.
    let found = cuts(&conversation, &measured, CutRules { most: 1_000, ..CutRules::at(1) });
    assert_eq!(found.last(), Some(&61));
    assert!(cuts(&conversation, &measured, CutRules::at(1_000_000)).is_empty());
}

#[test]
fn baselines_fill_their_budget_and_no_more() {
    let mut messages = vec![json!({"role": "user", "content": "The task."})];
    for step in 0..60 {
        let lines: Vec<String> = (0..30).map(|line| format!("{line}: value_{step}_{line} = {}", step * 7919)).collect();
        messages.push(json!({"role": "assistant", "content": [call(&format!("t{step}"), "Run", &json!({}))]}));
        messages.push(result(&format!("t{step}"), &lines.join("\n")));
    }
    let messages = Value::Array(messages);
    let conversation = read(&&messages, Format::Anthropic).unwrap();
    let ledger = Ledger::new(Arc::new(Exact::new(Encoding::O200kBase)));
    let total = ledger.measure(&conversation).total();
    for budget in [total / 8, total / 4, total / 2] {
        for (name, context) in [
            ("window", window(&conversation, ledger.now(), budget)),
            ("cover", line_cover(&conversation, ledger.now(), budget)),
        ] {
            let used = context.tokens * 100 / budget;
            assert!(context.tokens <= budget && used >= 97, "{name}: {} of {budget}", context.tokens);
            assert_eq!(context.messages[0], 0, "{name}");
        }
    }
    let all = window(&conversation, ledger.now(), total);
    assert_eq!((all.messages.len(), all.texts.len(), all.tokens), (conversation.messages.len(), 0, total));
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn a_whole_history_keeps_all_and_nothing_keeps_nothing(messages in conversation(ANY, "t"), at in 0_usize..1_000) {
        for format in Format::ALL {
            let rendered = render(&messages, format);
            let conversation = read(&&rendered, format).unwrap();
            let cut = at % (conversation.messages.len() + 1);
            let needs = Needs::of(&conversation, cut);
            let none = Coverage::default();
            let all = needs.kept_in(&whole(&conversation, cut), &none);
            prop_assert_eq!([all.anchors, all.lines, all.recoverable], [all.needed; 3]);
            prop_assert_eq!(all.grounded, all.edits);
            let nothing = needs.kept_in(&none, &none);
            prop_assert_eq!(counted(nothing), Retention { needed: all.needed, edits: all.edits, ..Retention::default() });
            for (whole, empty) in shares(all).into_iter().zip(shares(nothing)) {
                prop_assert_eq!((whole.kept, empty.kept), (whole.of, 0));
            }
            let part = needs.kept_in(&whole(&conversation, cut / 2), &whole(&conversation, cut));
            prop_assert!(part.lines <= part.anchors && part.anchors <= part.recoverable && part.recoverable == all.needed);
        }
    }
}
