//! Outputs of several programs in one text, and content types that look like others.

use crate::support::shrinking::{shrink, tokens};
use ullage::compress::{Aim, ContentKind};

const AIMS: [Aim; 3] = [Aim::Essence, Aim::Tokens(1_000), Aim::Tokens(300)];

/// A Rust source of this crate.
fn source() -> String {
    include_str!("../../../src/planner/plan.rs").to_owned()
}

fn paths() -> String {
    (0..900).map(|file| format!("./src/part_{}/file_{file}.rs\n", file % 30)).collect()
}

#[test]
fn a_failure_beside_what_else_was_printed_is_kept() {
    let traceback =
        "Traceback (most recent call last):\n  File \"x.py\", line 3, in <module>\n    f()\nKeyError: 'x'\n";
    let permission = "find: '/var/zz': Permission denied\n";
    let build = "error[E0308]: mismatched types\n";
    let diff: String = (0..60)
        .map(|file| format!("diff --git a/f{file}.c b/f{file}.c\n--- a/f{file}.c\n+++ b/f{file}.c\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n"))
        .collect();
    for (name, text, failures) in [
        ("source, then it ran", source() + traceback, vec!["Traceback (most", "KeyError: 'x'"]),
        ("it ran, then the source", traceback.to_owned() + &source(), vec!["Traceback (most", "KeyError: 'x'"]),
        ("source, then a build", source() + build, vec![build.trim()]),
        ("a list of files", permission.to_owned() + &paths(), vec![permission.trim()]),
        ("a list of files, and how it ended", paths() + "[exit code: 1]\n", vec!["[exit code: 1]"]),
        ("a diff, then git", diff + "fatal: unable to read tree 1234\n", vec!["fatal: unable to read tree 1234"]),
    ] {
        for aim in AIMS {
            let short = shrink("bash", &text, aim).unwrap().text;
            for failure in &failures {
                assert!(short.contains(failure), "{name}, {aim:?}: {failure:?} is gone:\n{short}");
            }
        }
    }
}

#[test]
fn logs_with_colons_are_no_search_results() {
    let line =
        |second: usize, said: &str| format!("Mar 14 09:{:02}:{:02} web-01 app[1]: {said}\n", second / 60, second % 60);
    let said = |second: usize| {
        if second == 500 { "ERROR database unreachable".to_owned() } else { format!("got request {second}") }
    };
    let syslog: String = (0..1_000).map(|second| line(second, &said(second))).collect();
    let short = shrink("journalctl", &syslog, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::Log);
    assert!(short.text.contains("Mar 14 09:08:20 web-01 app[1]: ERROR database unreachable"), "{}", short.text);

    let level = |second: usize| if second % 400 == 399 { 'E' } else { 'I' };
    let klog: String = (0..1_000)
        .map(|second| {
            let (minutes, seconds) = (second / 60, second % 60);
            format!(
                "{}0314 09:{minutes:02}:{seconds:02}.589793   12345 pod.go:67] synced pod {second}\n",
                level(second)
            )
        })
        .collect();
    let short = shrink("kubectl_logs", &klog, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::Log);
    assert!(short.text.contains("synced pod 399\n") && short.text.contains("synced pod 799\n"), "{}", short.text);
}

#[test]
fn errors_of_npm_are_errors() {
    let text = "added 1 package\n".repeat(300) + "npm ERR! code ERESOLVE\n" + &"removed a thing\n".repeat(300);
    let short = shrink("", &text, Aim::Tokens(80)).unwrap().text;
    assert!(short.contains("npm ERR! code ERESOLVE"), "{short}");
}

#[test]
fn objects_whose_keys_differ_take_time_in_proportion() {
    // Quadratic, this would take minutes.
    let text: String = (0..120_000).map(|line| format!("{{\"a{line}\":{line}}}\n")).collect();
    let short = shrink("", &text, Aim::Tokens(500)).unwrap();
    assert!(tokens(&short.text) <= 500);
}

#[test]
fn what_just_does_not_fit_is_made_to_fit() {
    let rows: String = (0..98).map(|row| format!(" {row:4} | user{row:<6} | {:6}\n", row * 7_919 % 9_999)).collect();
    let text = format!(" id | name | total \n----+------+-------\n{rows}");
    let whole = tokens(&text);
    for budget in whole - 40..whole {
        let short = shrink("psql", &text, Aim::Tokens(budget)).unwrap().text;
        assert!(tokens(&short) <= budget, "{} of {budget}", tokens(&short));
    }
}
