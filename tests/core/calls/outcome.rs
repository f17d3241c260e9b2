//! One judge says whether a call failed, whatever form says so.

use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::json;
use ullage::calls::{failed, has_failed, outcome, outcome_of};
use ullage::message::{Outcome, Part};
use ullage::wire::{Format, read};

#[test]
fn what_says_that_it_failed_failed() {
    for text in [
        "Error: string to replace not found in file",
        "Traceback (most recent call last):\n  File \"a.py\"\nValueError: no",
        "bash: frobnicate: command not found",
        "Exit code 1\nsomething",
        "running\nerror: could not compile `app`\n",
        r#"{"error": "denied"}"#,
        r#"{"result": "{\"status\": \"error\"}"}"#,
        r#"{"content": [{"type": "text", "text": "{\"error\": \"denied\"}"}], "isError": false}"#,
        r#"{"isError": true, "content": []}"#,
        r#"{"success": false, "message": "written"}"#,
        r#"{"exit_code": 1, "stdout": "written"}"#,
    ] {
        assert_eq!((failed(text), outcome(text, None)), (true, Outcome::Failed), "{text}");
    }
}

#[test]
fn a_failure_that_was_only_found_is_none_of_the_call() {
    for text in [
        "2026-11-21 18:09:53 ERROR the pool is exhausted\n2026-11-21 18:09:54 INFO again",
        r#"{"data": {"status": "failed"}, "count": 1}"#,
        r#"[{"error": "timeout"}, {"error": "timeout"}]"#,
        r#"{"errors": 0, "result": "0 errors"}"#,
        r#"{"message": "Error: in the log"}"#,
        r#"{"error": "none", "rows": []}"#,
        "error: nothing",
        "errors: 0",
        "exit code: 0",
    ] {
        assert!(!failed(text), "{text}");
    }
}

#[test]
fn only_a_sign_of_success_is_one() {
    for text in
        ["ok", "true", r#"{"ok": true}"#, "Wrote 300 bytes, 0 errors", "@@ -1 +1 @@\n-a\n+raise Error('not found')"]
    {
        assert_eq!(outcome(text, None), Outcome::Succeeded, "{text}");
    }
    for text in [
        "",
        "hm",
        "nothing was written",
        "false",
        r#"{"stderr": "warning", "stdout": "written"}"#,
        "[Large output saved to /tool_outputs/ok.txt]\n\nPreview",
    ] {
        assert_eq!(outcome(text, None), Outcome::Unknown, "{text}");
    }
}

#[test]
fn the_path_of_a_call_is_no_word_of_its_result() {
    assert_eq!(outcome("src/error.py written", None), Outcome::Unknown);
    assert_eq!(outcome("src/error.py written", Some("src/error.py")), Outcome::Succeeded);
    assert_eq!(outcome("written: src/error.pyc", Some("src/error.py")), Outcome::Unknown, "a longer word");
}

#[test]
fn a_flag_of_the_format_outweighs_words() {
    let of = |format, message: serde_json::Value| {
        let messages = json!([message]);
        let read = read(&&messages, format).unwrap();
        let part: &Part<Cow<'_, str>> = &read.messages[0].parts[0];
        assert_eq!(has_failed(part), outcome_of(part, None) == Outcome::Failed);
        outcome_of(part, None)
    };
    let anthropic = |flag: bool| {
        let block = json!({ "type": "tool_result", "tool_use_id": "1", "content": "hm", "is_error": flag });
        of(Format::Anthropic, json!({ "role": "user", "content": [block] }))
    };
    assert_eq!((anthropic(true), anthropic(false)), (Outcome::Failed, Outcome::Succeeded));
    let bedrock = |status: &str| {
        let result = json!({ "toolUseId": "1", "status": status, "content": [{ "text": "hm" }] });
        of(Format::Bedrock, json!({ "role": "user", "content": [{ "toolResult": result }] }))
    };
    assert_eq!((bedrock("error"), bedrock("success")), (Outcome::Failed, Outcome::Succeeded));
    for output in [json!({ "type": "error-text", "value": "ok" }), json!({ "type": "execution-denied" })] {
        let part = json!({ "type": "tool-result", "toolCallId": "1", "toolName": "write", "output": output });
        assert_eq!(of(Format::AiSdk, json!({ "role": "tool", "content": [part] })), Outcome::Failed);
    }
    let response = json!({ "name": "write", "response": { "error": "ok" } });
    let content = json!({ "role": "user", "parts": [{ "functionResponse": response }] });
    assert_eq!(of(Format::Gemini, content), Outcome::Failed);
}

proptest! {
    #[test]
    fn both_questions_have_one_answer(text in "(?s)(error|ok|\\{\"|\\[|exit code|:| |\n|[a-z\"{}0-9]){0,40}") {
        prop_assert_eq!(failed(&text), outcome(&text, None) == Outcome::Failed);
    }

    #[test]
    fn what_comes_between_the_ends_of_a_long_output_says_nothing(lines in 400_usize..900) {
        let filler = "a line of the output\n".repeat(lines);
        let text = format!("{filler}error: in the middle\n{filler}");
        prop_assert!(!failed(&text));
    }
}
