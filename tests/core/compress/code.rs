//! Source code, shortened.

use crate::support::shrinking::{check_guarantees, request, saved, shrink, tokens};
use crate::support::{cases, exact};
use proptest::prelude::*;
use regex::Regex;
use ullage::compress::{Aim, Compressed, ContentKind, Focus, Request, compress};

fn body(start: &str, lines: usize) -> String {
    (0..lines).map(|n| format!("{start}value = transform(value, {n}) + options.get(\"key_{n}\")\n")).collect()
}

fn python(functions: usize, lines: usize) -> String {
    let function = |n: usize| {
        format!(
            "    def handle_{n}(self, value: int, options: dict) -> int:\n        \"\"\"Handle the value number {n}.\n\n        \
             More of it.\n        \"\"\"\n{}        return value\n\n",
            body("        ", lines)
        )
    };
    let functions: String = (0..functions).map(function).collect();
    format!(
        "\"\"\"Handlers.\"\"\"\n\nimport os\nimport re\nfrom json import loads\n\nLIMIT = 10\n\n\nclass Handler(Base):\n    name: str\n\n{functions}"
    )
}

fn braces(head: &str, signature: &str, functions: usize, lines: usize) -> String {
    let function = |n: usize| format!("{}\n{}}}\n\n", signature.replace('N', &n.to_string()), body("    ", lines));
    head.to_owned() + &(0..functions).map(function).collect::<String>()
}

fn numbered(text: &str, from: usize, separator: &str) -> String {
    text.lines().enumerate().map(|(n, line)| format!("{:>6}{separator}{line}\n", from + n)).collect()
}

#[test]
fn what_is_declared_stays_and_bodies_go() {
    for (name, text, kept) in [
        ("Python", python(150, 9), "    def handle_77(self, value: int, options: dict) -> int:\n"),
        (
            "Rust",
            braces(
                "use std::fs;\nuse a::b;\nuse c::d;\n\n",
                "/// Reads N.\npub(crate) fn read_N<'a>(value: &'a str) -> usize {",
                150,
                9,
            ),
            "/// Reads 77.\npub(crate) fn read_77<'a>(value: &'a str) -> usize {\n",
        ),
        (
            "TypeScript",
            braces(
                "import { a } from \"./a\";\n\n",
                "export async function readN(\n  value: string,\n): Promise<void> {",
                150,
                9,
            ),
            "export async function read77(\n  value: string,\n): Promise<void> {\n",
        ),
        (
            "Go",
            braces("package a\n\n", "func (s *Server) ReadN(value string) error {", 150, 9),
            "func (s *Server) Read77(value string) error {\n",
        ),
        (
            "C",
            braces("#include <stdio.h>\n\n", "static int read_N(const char *value)\n{", 150, 9),
            "static int read_77(const char *value)\n",
        ),
        (
            "Java",
            braces("package a;\n\n", "public static <T> List<T> readN(String value) throws IOException {", 150, 9),
            "read77(String value)",
        ),
        ("shell", braces("#!/bin/sh\nset -eu\n\n", "read_N() {", 150, 9), "read_77() {\n"),
    ] {
        assert!((50_000..150_000).contains(&text.len()), "{name}: {}", text.len());
        let short = shrink("bash", &text, Aim::Essence).unwrap();
        assert_eq!(short.kind, ContentKind::Code, "{name}");
        assert!(short.text.contains(kept), "{name}: {}", short.text);
        assert!(saved(&text, &short.text) > 50.0, "{name}: {}: {}", saved(&text, &short.text), short.text);
    }
}

#[test]
fn imports_are_named_in_one_line_and_docs_by_their_first() {
    let short = shrink("", &python(20, 9), Aim::Essence).unwrap().text;
    for kept in [
        "[3 imports: os, re, json]\n",
        "LIMIT = 10\n",
        "class Handler(Base):\n    name: str\n",
        "        \"\"\"Handle the value number 7.\n[... lines ",
    ] {
        assert!(short.contains(kept), "{kept} is lost: {short}");
    }
}

#[test]
fn settings_keep_their_upper_levels() {
    let service = |n: usize| {
        let ports: String = (0..40).map(|port| format!("      - {port}:{port}\n")).collect();
        format!("  service_{n}:\n    image: example/service:{n}\n    ports:\n{ports}")
    };
    let text = format!("# What runs.\nversion: 3\nservices:\n{}", (0..5).map(service).collect::<String>());
    let short = shrink("", &text, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::Code);
    assert!(short.text.contains("version: 3\nservices:\n  service_0:\n"), "{}", short.text);
    assert!(short.text.contains("  service_4:\n"), "{}", short.text);
}

#[test]
fn documents_and_items_that_are_alike_are_counted() {
    let service = |i: usize| {
        format!(
            "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: svc-{i}\nspec:\n  ports:\n  - port: {i}\n    protocol: TCP\n"
        )
    };
    let lock =
        |i: usize| format!("[[package]]\nname = \"part-{i}\"\nversion = \"1.{i}.0\"\nchecksum = \"{i:064x}\"\n\n");
    let task = |i: usize| format!("- name: step {i}\n  command: run {i}\n  when: ready\n");
    for (text, kept) in [
        (
            (0..300).map(service).collect::<String>(),
            "kind: Service [300 keys like this]\nmetadata: [300 keys like this]\n  name: svc-0\n",
        ),
        ((0..300).map(lock).collect(), "[[package]] [300 keys like this]\nname = \"part-0\"\n"),
        ((0..300).map(task).collect(), "- name: step 0 [300 keys like this]\n  command: run 0\n"),
    ] {
        let short = shrink("", &text, Aim::Essence).unwrap();
        assert_eq!(short.kind, ContentKind::Code);
        assert!(short.text.contains(kept), "{kept} is lost: {}", short.text);
        assert!(saved(&text, &short.text) > 80.0, "{}", saved(&text, &short.text));
        check_guarantees("", &text, &[]);
    }
}

#[test]
fn gaps_name_the_lines_of_the_file() {
    for separator in ["\t", "→", ": ", " | "] {
        let short = shrink("read_file", &numbered(&python(20, 9), 301, separator), Aim::Essence).unwrap();
        assert_eq!(short.kind, ContentKind::Code, "{separator}");
        let gap = "[... lines 15-28 left out, numbered 315-328 ...]\n";
        assert!(short.text.contains(gap), "{}", short.text);
        let next = format!("   329{separator}    def handle_1(");
        assert!(short.text.contains(&next), "{}", short.text);
    }
    let short = shrink("", &numbered(&python(20, 9), 1, "\t"), Aim::Essence).unwrap();
    assert!(short.text.contains("[... lines 15-28 left out ...]\n"), "{}", short.text);
}

fn focused(text: &str, focus: Focus<'_>) -> Compressed {
    let request = Request { focus: Some(focus), ..request("read_file", Aim::Tokens(500)) };
    let short = compress(text, &request, &*exact()).unwrap();
    assert!(tokens(&short.text) <= 500);
    short
}

#[test]
fn what_was_asked_for_comes_first() {
    let text = python(60, 20);
    let line = |number: usize| text.lines().nth(number - 1).unwrap();
    let short = focused(&text, Focus::Lines(700..712));
    for number in 700..712 {
        assert!(short.text.contains(line(number)), "{number}: {}", short.text);
    }
    assert!(
        short.text.contains("[... lines 1-699 left out ...]") || short.text.contains("class Handler"),
        "{}",
        short.text
    );
    let short = focused(&numbered(&text, 1_001, "\t"), Focus::Lines(1_700..1_712));
    assert!(short.text.contains("  1700\t") && short.text.contains("  1711\t"), "{}", short.text);
    let short = focused(&text, Focus::Pattern(&Regex::new("handle_4[12]").unwrap()));
    assert!(short.text.contains("def handle_41(") && short.text.contains("def handle_42("), "{}", short.text);
}

#[test]
fn text_and_logs_are_no_code() {
    for text in [
        "Use the tool to import what you need, and from there import more.\nThe class of things is open.\n".repeat(60),
        "2026-01-02 12:00:00 INFO def handle was called, import done\n".repeat(60),
        "a line of words that goes on for a while and ends somewhere\n".repeat(60),
    ] {
        let kind = shrink("", &text, Aim::Tokens(100)).map(|short| short.kind);
        assert_ne!(kind, Some(ContentKind::Code), "{text}");
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn guarantees(functions in 1_usize..25, lines in 0_usize..20, from in 1_usize..5_000) {
        let rust = braces("use a::b;\n\n", "pub fn read_N(value: &str) -> usize {", functions, lines);
        for text in [python(functions, lines), numbered(&rust, from, "\t"), rust] {
            check_guarantees("", &text, &[]);
        }
    }
}
