//! Shortening of the output of compilers and installers.

use crate::support::cases;
use crate::support::shrinking::{check_guarantees, saved, shrink};
use proptest::prelude::*;
use ullage::compress::{Aim, ContentKind};

fn rustc(crates: usize, warnings: usize, errors: usize) -> String {
    let crates: String = (0..crates).map(|n| format!("   Compiling some-crate-{n} v1.0.{n}\n")).collect();
    let warnings: String = (0..warnings)
        .map(|n| {
            format!(
                "warning: unused variable: `value_{n}`\n  --> src/part_{n}.rs:{n}:9\n   |\n{n} |     let value_{n} = 1;\n   |         ^ \
                 help: prefix it with an underscore\n   |\n   = note: `#[warn(unused_variables)]` on by default\n\n"
            )
        })
        .collect();
    let each: String = (0..errors)
        .map(|n| {
            format!(
                "error[E0308]: mismatched types\n  --> src/read_{n}.rs:{n}:5\n   |\n{n} |     1\n   |     ^ expected `String`, \
                 found integer\nhelp: try this\n   |\n{n} |     1.to_string()\n   |      ++++++++++++\n\n"
            )
        })
        .collect();
    format!("{crates}{warnings}{each}error: could not compile `shop` (lib) due to {errors} previous errors\n")
}

fn gcc(files: usize, every: usize) -> String {
    let file = |n: usize| {
        let command = format!("[{n}/{files}] Building C object CMakeFiles/shop.dir/part_{n}.c.o\n");
        let warning = format!(
            "../part_{n}.c: In function 'read_{n}':\n../part_{n}.c:{n}:5: warning: unused variable 'x{n}' [-Wunused-variable]\n  \
             {n} |     int x{n};\n      |         ^~\n"
        );
        let error = format!(
            "FAILED: CMakeFiles/shop.dir/part_{n}.c.o \n/usr/bin/cc -O2 -o part_{n}.c.o -c ../part_{n}.c\n../part_{n}.c:{n}:9: error: \
             'value_{n}' undeclared (first use in this function)\n  {n} |     value_{n} = 1;\n      |     ^~~~~\n"
        );
        let is_bad = every > 0 && n % every == every - 1;
        command + if is_bad { &error } else { &warning }
    };
    (0..files).map(file).collect::<String>() + "ninja: build stopped: subcommand failed.\n"
}

fn pip(packages: usize) -> String {
    let each = |n: usize| {
        format!(
            "Collecting package-{n}\n  Downloading package_{n}-1.{n}-py3-none-any.whl (12 kB)\nRequirement already satisfied: other-{n}\n"
        )
    };
    (0..packages).map(each).collect::<String>() + "Successfully installed package-1 package-2\n"
}

fn tsc(errors: usize) -> String {
    (0..errors)
        .map(|n| format!("src/page_{n}.ts({n},5): error TS2322: Type 'string' is not assignable to type 'Page{n}'.\n  The rest of it.\n"))
        .collect::<String>()
        + "Found many errors.\n"
}

#[test]
fn errors_are_whole_and_warnings_stand_once() {
    let text = rustc(300, 400, 2);
    assert!((50_000..150_000).contains(&text.len()), "{}", text.len());
    let short = shrink("bash", &text, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::Build);
    assert!(saved(&text, &short.text) > 95.0, "{}", short.text);
    let error = &text[text.find("error[E0308]").unwrap()..];
    assert!(short.text.ends_with(error), "{}", short.text);
    assert!(short.text.contains("[progress: 300 Compiling]\n"), "{}", short.text);
    let warning = "warning: unused variable: `value_0` [400 warnings like this]\n  --> src/part_0.rs:0:9\n   |\n0 |     let value_0";
    assert!(short.text.contains(warning), "{}", short.text);
}

#[test]
fn every_kind_of_build_is_known() {
    for (name, text, kept) in [
        (
            "gcc",
            gcc(300, 100),
            vec![
                "'value_99' undeclared (first use in this function)\n  99 |     value_99 = 1;\n      |     ^~~~~\n",
                "ninja: build stopped",
            ],
        ),
        (
            "gcc: warnings",
            gcc(300, 100),
            vec!["[-Wunused-variable] [297 warnings like this]\n", "[progress: 300 Building"],
        ),
        (
            "pip",
            pip(300),
            vec![
                "[progress: 300 Collecting, 300 Downloading, 300 Requirement already satisfied]",
                "Successfully installed",
            ],
        ),
        ("tsc", tsc(300), vec!["src/page_0.ts(0,5): error TS2322", "src/page_9.ts(9,5): error TS2322"]),
        (
            "maven",
            "[INFO] Downloading from central: a\n".repeat(300)
                + "[ERROR] /home/me/A.java:[3,5] cannot find symbol\n  symbol: class B\n[INFO] BUILD FAILURE\n",
            vec!["[ERROR] /home/me/A.java:[3,5] cannot find symbol\n  symbol: class B\n[INFO] BUILD FAILURE\n"],
        ),
        (
            "docker",
            (0..300).map(|n| format!("#9 {n}.1 Downloading package-{n}\n")).collect::<String>()
                + "#9 301.2 ERROR: no matching distribution found for shop\n#9 ERROR: process did not complete\n",
            vec!["#9 301.2 ERROR: no matching distribution found for shop\n"],
        ),
    ] {
        for aim in [Aim::Essence, Aim::Tokens(1_000)] {
            let short = shrink("", &text, aim).unwrap_or_else(|| panic!("{name} stays"));
            assert_eq!(short.kind, ContentKind::Build, "{name}");
            for kept in &kept {
                assert!(short.text.contains(kept), "{name} lost {kept}: {}", short.text);
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn guarantees(size in 1_usize..60, every in 0_usize..9) {
        let found = |text: &str, word: &str| -> Vec<String> {
            text.lines().filter(|line| line.contains(word)).map(str::to_owned).collect()
        };
        let (rust, c, ts) = (rustc(size, size, every), gcc(size, every), tsc(size));
        check_guarantees("", &rust, &found(&rust, "error[E"));
        check_guarantees("", &c, &found(&c, ": error: "));
        check_guarantees("", &ts, &found(&ts, ": error TS"));
        check_guarantees("", &pip(size), &[]);
    }
}
