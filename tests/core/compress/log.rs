//! Logs, shortened.

use crate::support::cases;
use crate::support::shrinking::{check_guarantees, saved, shrink};
use proptest::prelude::*;
use ullage::compress::{Aim, ContentKind};

/// A log of an application; every `failing`-th line reports a failure.
fn log(lines: usize, failing: usize) -> (String, Vec<String>) {
    const PATHS: [&str; 5] = ["/api/users", "/api/orders", "/health", "/cart", "/login"];
    let (mut text, mut failures) = (String::new(), Vec::new());
    for line in 0..lines {
        let time = format!("2026-11-20T08:{:02}:{:02}.{:03}", line / 60 % 60, line % 60, line * 7 % 1_000);
        let body = match line % 20 {
            _ if line % failing == failing - 1 => {
                format!("ERROR [payments] charge ch_{:x} failed: declined", line * 7_919)
            }
            0..12 => {
                format!("INFO [http] GET {}/{} 200 {}ms user=u{}", PATHS[line % 5], line * 31, line % 300, line % 9)
            }
            12..16 => {
                format!("DEBUG [cache] hit key=user:{}:profile ttl={}", ["ann", "bob", "eve"][line % 3], line % 600)
            }
            _ => format!("INFO [worker-{}] job {:016x} done in {}ms", line % 8, line * 104_729, line * 13 % 9_000),
        };
        if body.starts_with("ERROR") {
            failures.push(body.clone());
        }
        text += &format!("{time} {body}\n");
    }
    (text, failures)
}

#[test]
fn repeated_lines_are_counted_and_failures_kept() {
    let (text, failures) = log(1_500, 500);
    let short = shrink("", &text, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::Log);
    assert!(saved(&text, &short.text) >= 97.0, "{:.1} % saved", saved(&text, &short.text));
    assert!(failures.iter().all(|failure| short.text.contains(failure)), "{}", short.text);
    assert!(
        short.text.contains("DEBUG [cache] hit key=user:ann:profile ttl=12 [300 lines like this]"),
        "{}",
        short.text
    );
}

/// Without a budget too.
#[test]
fn failures_that_are_alike_are_counted_exactly() {
    let text: String = (0..3_000)
        .map(|i| {
            format!(
                "2026-11-20 08:00:00 ERROR could not reach 10.0.{}.{} after {i} s\n    at net.go:{i}\n",
                i % 7,
                i % 99
            )
        })
        .chain(["2026-11-20 09:00:00 ERROR disk full\n".to_owned()])
        .collect();
    let short = shrink("", &text, Aim::Essence).unwrap();
    assert!(
        short.text.contains("ERROR could not reach 10.0.0.0 after 0 s [3,000 lines like this]\n    at net.go:0"),
        "{}",
        short.text
    );
    assert!(short.text.ends_with("ERROR disk full\n"), "{}", short.text);
    let counted: usize = short.left_out.iter().map(|left_out| left_out.failure_words).sum();
    assert_eq!(counted + short.text.matches("ERROR").count(), 3_001, "{}", short.text);
    assert!(saved(&text, &short.text) >= 97.0, "{:.1} % saved", saved(&text, &short.text));
}

#[test]
fn a_stack_that_repeats_is_shown_once() {
    let java = |i: usize| {
        let frames: String = (0..25)
            .map(|frame| format!("\tat com.example.shop.C{frame}.run(C{frame}.java:{})\n", i % 3 + frame))
            .collect();
        format!("java.io.IOException: no disk {i}\n{frames}")
    };
    let python = |i: usize| {
        let frames: String = (0..10)
            .map(|frame| format!("  File \"/app/m{frame}.py\", line {frame}, in run\n    return next(x)\n"))
            .collect();
        format!("Traceback (most recent call last):\n{frames}ValueError: bad value {i}\n")
    };
    let text: String = (0..600)
        .map(|i| {
            let failure = match i % 40 {
                7 => format!("2026-11-20 08:00:00 ERROR order {i} failed\n{}", java(i)),
                9 => format!("2026-11-20 08:00:00 ERROR item {i} is gone\n{}", python(i)),
                _ => String::new(),
            };
            format!("2026-11-20 08:00:00 INFO served request {i} in {} ms\n{failure}", i % 90)
        })
        .collect();
    let short = shrink("", &text, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::Log);
    assert_eq!(short.text.matches("at com.example.shop.C3.run").count(), 1, "{}", short.text);
    assert_eq!(short.text.matches("/app/m3.py").count(), 1, "{}", short.text);
    assert_eq!(short.text.matches("[25 lines of a stack that was seen before]").count(), 14, "{}", short.text);
    assert_eq!(short.text.matches("java.io.IOException: no disk").count(), 15, "{}", short.text);
    assert!(saved(&text, &short.text) >= 85.0, "{:.1} % saved", saved(&text, &short.text));
    let failures: Vec<String> =
        (0..600).filter(|i| i % 40 == 9).map(|i| format!("ValueError: bad value {i}")).collect();
    check_guarantees("", &text, &failures);
}

#[test]
fn eight_times_the_lines_say_the_same() {
    let of = |lines| {
        let (text, _) = log(lines, 250);
        shrink("", &text, Aim::Tokens(1_000)).unwrap().text
    };
    let (small, large) = (of(1_000), of(8_000));
    let lines = |text: &str| text.lines().count();
    assert!(lines(&large) * 2 > lines(&small), "{small}\n\n{large}");
}

#[test]
fn the_stack_of_a_failure_stays_with_it() {
    let (noise, _) = log(300, 1_000);
    let trace =
        "2026-11-20T09:00:00 ERROR [web] unhandled\n  File \"app.py\", line 3, in run\n    boom()\nValueError: no\n";
    let short = shrink("", &format!("{noise}{trace}{noise}"), Aim::Tokens(400)).unwrap();
    assert!(short.text.contains(trace), "{}", short.text);
}

/// A line that says how many there are, and two at each end that show how the numbers change.
#[test]
fn similar_lines_do_not_fill_a_budget() {
    let text: String = (0..3_000).map(|n| format!("worker {} handled request {n}\n", n % 7)).collect();
    let short = shrink("", &text, Aim::Tokens(600)).unwrap();
    assert_eq!(
        short.text,
        "worker 0 handled request 0 [3,000 lines like this]\nworker 1 handled request 1\nworker 2 handled request 2\n\
         [... lines 4-2998 left out ...]\nworker 2 handled request 2998\nworker 3 handled request 2999\n"
    );
}

#[test]
fn what_reports_no_failure_is_none() {
    let (noise, _) = log(300, 1_000);
    let text =
        format!("{noise}scan: 0 errors, no failures, failed: 0\nsee src/error.rs and /var/log/errors/a\n{noise}");
    let short = shrink("", &text, Aim::Tokens(60)).unwrap();
    assert!(short.left_out.iter().all(|left_out| left_out.failure_words == 0), "{}", short.text);
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn guarantees(lines in 1_usize..3_000, failing in 2_usize..400) {
        let (text, failures) = log(lines, failing);
        check_guarantees("", &text, &failures);
    }
}
