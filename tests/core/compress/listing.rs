//! Lists of files, shortened.

use crate::support::cases;
use crate::support::shrinking::{check_guarantees, saved, shrink};
use proptest::prelude::*;
use ullage::compress::{Aim, ContentKind};

/// `ls -lR` of so many folders, with a few things that stand out in the third.
fn long(folders: usize, files: usize) -> String {
    let folder = |folder: usize| {
        let files: String = (0..files)
            .map(|file| format!("-rw-r--r-- 1 root root {:>6} Mar  5  2024 page_{file}.html\n", 1_000 + file))
            .collect();
        let special = "-rwsr-xr-x 1 root root   8000 Mar  5  2024 sudo\n-rw-r--r-- 1 ann  staff  1200 Mar  5  2024 notes.md\n\
                       -rw-r--r-- 1 root root 98000123 Mar  5  2024 dump.html\n";
        let special = if folder == 3 { special } else { "" };
        format!("./share/doc/package-{folder}:\ntotal 120\n{files}{special}\n")
    };
    (0..folders).map(folder).collect()
}

/// `find -ls` of the same.
fn found(folders: usize, files: usize) -> String {
    let entry = |inode: usize, size: usize, path: String| {
        format!("   {inode:>6}      4 -rw-r--r--   1 root     root     {size:>8} May 11  2023 {path}\n")
    };
    let folder = |folder: usize| {
        let at = format!("./share/doc/package-{folder}");
        let files: String =
            (0..files).map(|file| entry(folder * 99 + file, 1_000 + file, format!("{at}/page_{file}.html"))).collect();
        let special = if folder == 3 { entry(7, 98_000_123, format!("{at}/dump.html")) } else { String::new() };
        format!("   {folder:>6}      4 drwxr-xr-x   2 root     root         4096 Jan 28  2023 {at}\n{files}{special}")
    };
    (0..folders).map(folder).collect()
}

fn paths(folders: usize, files: usize) -> String {
    let folder = |folder: usize| {
        let files: String = (0..files).map(|file| format!("./src/package_{folder}/part_{file}.rs\n")).collect();
        format!("./src/package_{folder}\n{files}")
    };
    (0..folders).map(folder).collect::<String>() + "./src/run.sh\n"
}

fn tree(folders: usize, files: usize) -> String {
    let folder = |folder: usize| {
        let files: String = (0..files).map(|file| format!("│   ├── part_{file}.rs\n")).collect();
        format!("├── package_{folder}\n{files}")
    };
    let all: String = (0..folders).map(folder).collect();
    format!(".\n{all}└── run.sh\n\n{folders} directories, {} files\n", folders * files + 1)
}

fn du(folders: usize) -> String {
    (0..folders).map(|folder| format!("{}\t./target/debug/part_{folder}\n", folder * 7 % 1_000)).collect::<String>()
        + "123456\t.\n"
}

fn git_status(files: usize) -> String {
    let entries = |word: &str| (0..files).map(|file| format!("\t{word}src/part_{file}.rs\n")).collect::<String>();
    format!(
        "On branch main\nYour branch is up to date with 'origin/main'.\n\nChanges not staged for commit:\n  (use \"git add \
         <file>...\" to update what will be committed)\n{}\nUntracked files:\n{}\nno changes added to commit\n",
        entries("modified:   "),
        entries("")
    )
}

#[test]
fn folders_are_counted_and_what_stands_out_is_kept() {
    for (folders, files) in [(60, 25), (250, 4), (3, 400)] {
        let text = long(folders.max(4), files);
        assert!((50_000..150_000).contains(&text.len()), "{}", text.len());
        let short = shrink("bash", &text, Aim::Essence).unwrap();
        assert_eq!(short.kind, ContentKind::Listing);
        assert!(saved(&text, &short.text) > 60.0, "{}: {}", saved(&text, &short.text), short.text);
        for kept in ["  sudo* 8,000 -rwsr-xr-x\n", "  notes.md 1,200 ann:staff\n", "  dump.html 98,000,123\n"] {
            assert!(short.text.contains(kept), "{kept} is lost: {}", short.text);
        }
        assert!(
            short.text.contains(&format!("./share/doc/package-1: {files} files ({files} .html), ")),
            "{}",
            short.text
        );
    }
}

#[test]
fn every_kind_of_list_is_known() {
    for (name, text, kept) in [
        ("paths", paths(40, 30), "./src/package_7/: 30 entries (30 .rs)\n  part_0.rs\n  part_1.rs\n"),
        ("a rare path", paths(40, 30), "./src/run.sh"),
        ("a tree", tree(40, 30), "40 directories, 1201 files\n"),
        ("du", du(900), "123456\t.\n"),
        ("git status", git_status(200), "Untracked files:\n"),
        ("git status --short", (0..300).map(|n| format!(" M src/part_{n}.rs\n")).collect(), " M src/part_3.rs\n"),
    ] {
        let short = shrink("", &text, Aim::Essence).unwrap_or_else(|| panic!("{name} stays"));
        assert_eq!(short.kind, ContentKind::Listing, "{name}");
        assert!(short.text.contains(kept), "{name}: {}", short.text);
        assert!(saved(&text, &short.text) > 60.0, "{name}: {}: {}", saved(&text, &short.text), short.text);
    }
}

#[test]
fn what_is_no_list_is_not_taken_for_one() {
    for text in [
        "see the file a.txt in the folder\nand then read on, until the end of the text\n".repeat(40),
        "2026-01-02 12:00:00 INFO server: /home/me/a.rs was read\n".repeat(40),
        "fn main() {\n    let path = \"a/b\";\n}\n".repeat(40),
        "https://example.com/a/b\n".repeat(40),
    ] {
        let kind = shrink("ls", &text, Aim::Tokens(100)).map(|short| short.kind);
        assert_ne!(kind, Some(ContentKind::Listing), "{text}");
    }
}

#[test]
fn what_find_lists_is_named_under_its_folder() {
    let text = found(20, 40);
    let short = shrink("", &text, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::Listing);
    for kept in [
        "./share/doc/package-7/: 40 files (40 .html), 40.7 kB\n  page_0.html 1,000\n",
        "  dump.html 98,000,123\n",
        "./share/doc/package-19/",
    ] {
        assert!(short.text.contains(kept), "{kept} is lost: {}", short.text);
    }
    assert!(saved(&text, &short.text) > 80.0, "{}", saved(&text, &short.text));
    check_guarantees("", &text, &[]);
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn guarantees(folders in 1_usize..25, files in 0_usize..20) {
        for text in [long(folders, files), paths(folders, files), tree(folders, files), du(folders * 10), git_status(files)] {
            check_guarantees("", &text, &[]);
        }
    }
}
