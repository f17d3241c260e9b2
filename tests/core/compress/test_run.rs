//! Runs of tests, shortened.

use crate::support::cases;
use crate::support::shrinking::{check_guarantees, saved, shrink, tokens};
use proptest::prelude::*;
use ullage::compress::{Aim, ContentKind};

/// Output of failing tests, and the texts that must not be lost.
struct Run {
    text: String,
    failures: Vec<String>,
}

fn is_failing(test: usize, every: usize) -> bool {
    every > 0 && test % every == every - 1
}

fn pytest(files: usize, each: usize, every: usize) -> Run {
    let mut text = "============================= test session starts ==============================\n\
        platform linux -- Python 3.11.7, pytest-9.2.0, pluggy-1.7.0\nrootdir: /home/me/shop\n"
        .to_owned();
    let all: Vec<(usize, usize)> = (0..files).flat_map(|file| (0..each).map(move |test| (file, test))).collect();
    let failing: Vec<(usize, usize)> =
        all.iter().copied().filter(|(file, test)| is_failing(file * each + test, every)).collect();
    text += &format!("collected {} items\n\n", all.len());
    for (file, test) in &all {
        let word = if failing.contains(&(*file, *test)) { "FAILED" } else { "PASSED" };
        text +=
            &format!("tests/orders/test_orders_{file}.py::TestOrders::test_total_{test} {word}               [ 12%]\n");
    }
    text += "\n=================================== FAILURES ===================================\n";
    for (file, test) in &failing {
        text += &format!(
            "______________________________ test_total_{test} ______________________________\n\n    \
             def test_total_{test}():\n        order = Order(lines={test})\n>       assert order.total == {file}\n\
             E       AssertionError: assert {test}.5 == {file} in order {file}/{test}\n\n\
             tests/orders/test_orders_{file}.py:{test}: AssertionError\n\
             ----------------------------- Captured stdout call -----------------------------\n{}",
            "loading the fixtures of the shop\n".repeat(40)
        );
    }
    text += "=========================== short test summary info ============================\n";
    for (file, test) in &failing {
        text += &format!("FAILED tests/orders/test_orders_{file}.py::TestOrders::test_total_{test} - AssertionError\n");
    }
    let passed = all.len() - failing.len();
    text += &format!(
        "========================= {} failed, {passed} passed in 5.24s =========================\n",
        failing.len()
    );
    let failures = failing.iter().map(|(file, test)| format!("in order {file}/{test}")).collect();
    Run { text, failures }
}

fn cargo(tests: usize, every: usize) -> Run {
    let mut text = format!("     Running tests/wire.rs (target/debug/deps/wire-0f1e2d3c)\n\nrunning {tests} tests\n");
    let failing: Vec<usize> = (0..tests).filter(|test| is_failing(*test, every)).collect();
    for test in 0..tests {
        let word = if failing.contains(&test) { "FAILED" } else { "ok" };
        text += &format!("test formats::reads_message_{test} ... {word}\n");
    }
    text += "\nfailures:\n\n";
    for test in &failing {
        text += &format!(
            "---- formats::reads_message_{test} stdout ----\n\nthread 'formats::reads_message_{test}' (31) panicked at \
             tests/wire.rs:{test}:5:\nassertion `left == right` failed: message {test}\n  left: 1\n right: 2\n\
             note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n"
        );
    }
    let word = if failing.is_empty() { "ok" } else { "FAILED" };
    text += &format!("test result: {word}. {tests} run; finished in 0.21s\n");
    Run { text, failures: failing.iter().map(|test| format!("failed: message {test}")).collect() }
}

fn go(tests: usize, every: usize) -> Run {
    let mut run = Run { text: String::new(), failures: Vec::new() };
    for test in 0..tests {
        run.text += &format!("=== RUN   TestParse{test}\n    parse_test.go:{test}: want {test} got error {test}x\n");
        if is_failing(test, every) {
            run.text += &format!("--- FAIL: TestParse{test} (0.00s)\n");
            run.failures.push(format!("want {test} got error {test}x"));
        } else {
            run.text += &format!("--- PASS: TestParse{test} (0.00s)\n");
        }
    }
    run.text += "FAIL\nFAIL\texample.com/shop/parse\t0.31s\n";
    run
}

fn go_json(tests: usize, every: usize) -> Run {
    let plain = go(tests, every);
    let mut text = String::new();
    let mut test = String::new();
    for line in plain.text.lines() {
        if let Some(name) = line.strip_prefix("=== RUN   ") {
            name.clone_into(&mut test);
        }
        let head = format!(r#"{{"Time":"2026-01-02T03:04:05Z","Package":"example.com/shop","Test":"{test}""#);
        text += &format!("{head},\"Action\":\"output\",\"Output\":{}}}\n", serde_json::json!(format!("{line}\n")));
        if line.starts_with("--- ") {
            let action = if line.contains("FAIL") { "fail" } else { "pass" };
            text += &format!("{head},\"Action\":\"{action}\",\"Elapsed\":0}}\n");
        }
    }
    Run { text, failures: plain.failures }
}

fn jest(tests: usize, every: usize) -> Run {
    let mut run = Run { text: String::new(), failures: Vec::new() };
    for test in 0..tests {
        let file = format!("src/cart/cart{}.test.js", test / 20);
        if test % 20 == 0 {
            run.text += &format!("PASS {file}\n");
        }
        if is_failing(test, every) {
            run.text += &format!(
                "  ● cart › adds {test}\n\n    expect(received).toBe(expected)\n\n    Expected: {test}\n    Received: failure {test}/x\n\n      \
                 at Object.<anonymous> (src/cart/cart.test.js:{test}:9)\n\n"
            );
            run.failures.push(format!("Received: failure {test}/x"));
        } else {
            run.text += &format!("    ✓ adds an item of kind {test} to the cart (3 ms)\n");
        }
    }
    run.text += "Test Suites: 1 failed, 3 passed, 4 total\nTests:       9 failed, 20 passed, 29 total\n";
    run
}

#[test]
fn passes_are_counted_and_failures_are_whole() {
    let run = pytest(30, 40, 400);
    assert!((50_000..150_000).contains(&run.text.len()), "{}", run.text.len());
    let short = shrink("bash", &run.text, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::TestRun);
    assert!(saved(&run.text, &short.text) > 80.0, "{}", short.text);
    for kept in [
        "3 failed, 1,197 passed\n",
        "tests/orders/test_orders_7.py: 40 passed\n",
        ">       assert order.total == 9\nE       AssertionError: assert 39.5 == 9 in order 9/39\n",
        "3 failed, 1197 passed in 5.24s",
    ] {
        assert!(short.text.contains(kept), "{kept} is lost: {}", short.text);
    }
}

#[test]
fn what_a_small_budget_keeps_says_what_failed_and_why() {
    for (name, run, needed) in [
        ("pytest", pytest(30, 40, 120), "10 failed, 1190 passed in 5.24s"),
        ("cargo", cargo(900, 90), "test result: FAILED. 900 run"),
        ("go", go(700, 90), "FAIL\texample.com/shop/parse"),
        ("go -json", go_json(500, 90), "FAIL\texample.com/shop/parse"),
        ("jest", jest(900, 90), "Tests:       9 failed"),
    ] {
        let short = shrink("", &run.text, Aim::Tokens(1_000)).unwrap();
        assert_eq!(short.kind, ContentKind::TestRun, "{name}");
        assert!(tokens(&short.text) <= 1_000);
        assert!(short.text.contains(needed), "{name}: {}", short.text);
        for failure in &run.failures {
            assert!(short.text.contains(failure), "{name} lost {failure}: {}", short.text);
        }
    }
}

#[test]
fn a_warning_is_kept_once() {
    let warning = |n: usize| {
        format!("tests/a.py::test_{n}\n  /home/me/shop/a.py:{n}: DeprecationWarning: old api {n}\n    warn()\n\n")
    };
    let warnings: String = (0..400).map(warning).collect();
    let text = format!(
        "=============================== warnings summary ===============================\n{warnings}\
         -- Docs: https://docs.pytest.org/en/stable/how-to/capture-warnings.html\n\
         ====================== 400 passed, 400 warnings in 0.95s =======================\n"
    );
    let short = shrink("", &text, Aim::Essence).unwrap();
    assert_eq!(short.text.matches("DeprecationWarning").count(), 1, "{}", short.text);
    assert!(short.text.contains("400 passed, 400 warnings in 0.95s"));
}

#[test]
fn a_traceback_of_unittest_is_kept() {
    let passes: String =
        (0..300).map(|n| format!("test_sum_{n} (tests.test_sums.Sums.test_sum_{n}) ... ok\n")).collect();
    let rule = "=".repeat(70);
    let text = format!(
        "{passes}test_bad (tests.test_sums.Sums.test_bad) ... FAIL\n\n{rule}\nFAIL: test_bad (tests.test_sums.Sums.test_bad)\n{}\n\
         Traceback (most recent call last):\n  File \"/home/me/tests/test_sums.py\", line 7, in test_bad\n    self.assertEqual(1, 2)\n\
         AssertionError: 1 != 2\n\n{}\nRan 301 tests in 0.004s\n\nFAILED (failures=1)\n",
        "-".repeat(70),
        "-".repeat(70)
    );
    let short = shrink("", &text, Aim::Tokens(200)).unwrap();
    for kept in ["self.assertEqual(1, 2)\nAssertionError: 1 != 2\n", "1 failed, 300 passed\n", "FAILED (failures=1)"] {
        assert!(short.text.contains(kept), "{}", short.text);
    }
}

#[test]
fn expected_failures_are_counted_as_such() {
    let passes: String = (0..40).map(|i| format!("tests/test_a.py::test_{i} PASSED\n")).collect();
    let text = format!(
        "===== test session starts =====\ncollected 43 items\n\n{passes}tests/test_a.py::test_b SKIPPED (no disk)\n\
         tests/test_a.py::test_c XFAIL (known)\ntests/test_a.py::test_d XPASS\n\n\
         ===== 40 passed, 1 skipped, 1 xfailed, 1 xpassed in 0.31s =====\n"
    );
    let short = shrink("pytest", &text, Aim::Essence).unwrap().text;
    assert!(short.contains("\n40 passed, 1 skipped, 1 xfailed, 1 xpassed\n"), "{short}");
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn guarantees(size in 1_usize..30, every in 0_usize..9) {
        let all = size * 10;
        for run in [pytest(size, 9, every), cargo(all, every), go(all, every), go_json(all, every), jest(all, every)] {
            check_guarantees("", &run.text, &run.failures);
        }
    }
}
