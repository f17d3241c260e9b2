//! Stack traces, shortened.

use crate::support::cases;
use crate::support::shrinking::{check_guarantees, saved, shrink};
use proptest::prelude::*;
use ullage::compress::{Aim, ContentKind};

fn python(traces: usize, recursion: usize) -> String {
    let own = "  File \"/app/shop/orders.py\", line 12, in total\n    return self.sum(order)\n";
    let library = |n: usize| {
        format!("  File \"/usr/lib/python3.11/site-packages/orm/query.py\", line {n}, in run\n    return inner()\n")
    };
    let recursive = "  File \"/app/shop/tree.py\", line 7, in walk\n    self.visit(node)\n  File \"/app/shop/tree.py\", line 9, in visit\n    self.walk(node.child)\n";
    let one = |n: usize| {
        format!(
            "Traceback (most recent call last):\n{own}{}{}ValueError: no price for order {n}\n\n",
            (0..12).map(library).collect::<String>(),
            recursive.repeat(recursion)
        )
    };
    (0..traces).map(one).collect()
}

fn java(depth: usize) -> String {
    let spring: String = (0..depth)
        .map(|n| format!("\tat org.springframework.web.Filter{n}.doFilter(Filter{n}.java:{n}) ~[spring-web.jar:6.1]\n"))
        .collect();
    format!(
        "java.lang.IllegalStateException: order is gone\n\tat com.example.shop.Orders.find(Orders.java:31)\n{spring}\
         \tat java.base/java.lang.Thread.run(Thread.java:840)\nCaused by: java.sql.SQLException: connection refused\n\
         \tat com.example.shop.Store.load(Store.java:77)\n\tat java.base/java.util.Optional.get(Optional.java:1)\n\t... {depth} more\n"
    )
}

fn javascript(depth: usize) -> String {
    let modules: String = (0..depth)
        .map(|n| {
            format!(
                "    at next (/app/node_modules/express/lib/route.js:{n}:13)\n    at layer{n} (node:internal/a:1:2)\n"
            )
        })
        .collect();
    format!(
        "TypeError: Cannot read properties of undefined (reading 'price')\n    at total (/app/src/orders.js:12:5)\n{modules}    at main (/app/src/index.js:3:1)\n"
    )
}

fn go(goroutines: usize) -> String {
    let idle = |n: usize| {
        format!(
            "goroutine {n} [chan receive, {n} minutes]:\nmain.worker(0xc0000{n}, 0x1)\n\t/app/worker.go:31 +0x1d\n\
             created by main.start in goroutine 1\n\t/app/main.go:12 +0x7\n\n"
        )
    };
    let idle: String = (20..20 + goroutines).map(idle).collect();
    format!(
        "panic: runtime error: index out of range [3] with length 3\n\ngoroutine 1 [running]:\nmain.parse(...)\n\t/app/parse.go:7\n\
         main.main()\n\t/app/main.go:20 +0x1d\n\n{idle}exit status 2\n"
    )
}

fn rust(depth: usize) -> String {
    let library = |n: usize| {
        format!(
            "  {n:>2}: core::ops::function::FnOnce::call_once\n             at /rustc/0123/library/core/src/ops/function.rs:250:5\n"
        )
    };
    let libraries: String = (2..2 + depth).map(library).collect();
    format!(
        "thread 'main' panicked at src/orders.rs:3:5:\nno order\nstack backtrace:\n   0: rust_begin_unwind\n             at \
         /rustc/0123/library/std/src/panicking.rs:689:5\n   1: shop::orders::find\n             at ./src/orders.rs:3:5\n{libraries}"
    )
}

#[test]
fn messages_and_own_frames_stay_and_libraries_are_counted() {
    for (name, text, kept) in [
        (
            "Python",
            python(40, 0),
            vec![
                "ValueError: no price for order 0\n",
                "    return self.sum(order)\n",
                "[12 frames of libraries, as far as there was room]\n",
            ],
        ),
        (
            "recursion",
            python(1, 400),
            vec!["    self.walk(node.child)\n[the 2 frames above 399 times more]\nValueError: no price"],
        ),
        (
            "Java",
            java(60),
            vec![
                "order is gone\n\tat com.example.shop.Orders.find(Orders.java:31)\n[61 frames of libraries, as far as there was room]\nCaused by: java.sql.SQLException: \
                 connection refused\n\tat com.example.shop.Store.load(Store.java:77)\n",
            ],
        ),
        (
            "JavaScript",
            javascript(40),
            vec![
                "(reading 'price')\n    at total (/app/src/orders.js:12:5)\n[80 frames of libraries, as far as there was room]\n    at main",
            ],
        ),
        (
            "Go",
            go(200),
            vec![
                "index out of range [3] with length 3\n",
                "[chan receive, 20 minutes]: [200 stacks like this]\nmain.worker(0xc000020, 0x1)\n\t/app/worker.go:31",
            ],
        ),
        ("Rust", rust(40), vec!["no order\n", "   1: shop::orders::find\n             at ./src/orders.rs:3:5\n"]),
    ] {
        for aim in [Aim::Essence, Aim::Tokens(600)] {
            let short = shrink("", &text, aim).unwrap_or_else(|| panic!("{name} stays"));
            assert_eq!(short.kind, ContentKind::Trace, "{name}");
            for kept in kept.iter().filter(|kept| aim == Aim::Essence || !kept.contains("libraries")) {
                assert!(short.text.contains(kept), "{name} lost {kept}: {}", short.text);
            }
            assert!(aim != Aim::Essence || saved(&text, &short.text) > 60.0, "{name}: {}", short.text);
        }
    }
}

#[test]
fn a_trace_in_a_log_is_the_log_s() {
    let log: String = (0..60).map(|n| format!("2026-01-02 12:00:00 INFO request {n} done in {n} ms\n")).collect();
    let text = format!("{log}{}{log}", python(1, 0));
    assert_ne!(shrink("", &text, Aim::Tokens(300)).map(|short| short.kind), Some(ContentKind::Trace));
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn guarantees(size in 1_usize..30, recursion in 0_usize..30) {
        let messages: Vec<String> = (0..size).map(|n| format!("ValueError: no price for order {n}\n")).collect();
        let messages: Vec<String> = messages.iter().map(|message| message.trim_end().to_owned()).collect();
        check_guarantees("", &python(size, recursion), &messages);
        check_guarantees("", &java(size), &["order is gone".to_owned(), "connection refused".to_owned()]);
        for text in [javascript(size), go(size), rust(size)] {
            check_guarantees("", &text, &[]);
        }
    }
}
