//! Stores keep what they are given, whole or not at all, and nothing leads out of their folder.

use std::fs;
use std::sync::Barrier;

use proptest::prelude::*;
use tempfile::tempdir;
use ullage::error::Error;
use ullage::store::{
    Deletion, FileStore, MemoryStore, Reference, Store, Storing, marked, marked_reference, noted_removals,
};

fn reference(content: &[u8]) -> Reference {
    Reference::of("bash", content)
}

/// Does the same with a store of either kind.
fn with_each_store(check: impl Fn(&dyn Store)) {
    let folder = tempdir().unwrap();
    check(&MemoryStore::default());
    check(&FileStore::new(folder.path().join("not/there/yet")));
}

#[test]
fn every_store_gives_back_what_was_put() {
    with_each_store(|store| {
        for content in [&b""[..], b"text", b"\xff\0\xfe", &block(7)] {
            let name = reference(content);
            store.put(&name, content).unwrap();
            store.put(&name, content).unwrap();
            assert_eq!(*store.get(&name).unwrap(), content);
        }
        let listed = store.list().unwrap();
        assert!(listed.len() == 4 && listed.is_sorted(), "{listed:?}");
        assert_eq!(store.delete(&listed[0]), Ok(Deletion::Deleted));
        assert_eq!(store.delete(&listed[0]), Ok(Deletion::NotFound));
        assert_eq!(store.list().unwrap(), listed[1..]);
    });
}

#[test]
fn every_store_refuses_other_content_under_a_reference() {
    with_each_store(|store| {
        let name = reference(b"one");
        store.put(&name, b"one").unwrap();
        assert_eq!(store.put(&name, b"two"), Err(Error::Taken { reference: name.to_string() }));
        assert_eq!(*store.get(&name).unwrap(), b"one");
    });
}

#[test]
fn of_two_that_store_under_one_reference_exactly_one_succeeds() {
    for kind in 0..2 {
        let folder = tempdir().unwrap();
        let memory = MemoryStore::default();
        for round in 0..100_u8 {
            let name = reference(&[round]);
            let start = Barrier::new(2);
            // A store of its own for each, as two processes have.
            let put = |content: u8| {
                let file = FileStore::new(folder.path());
                let store: &dyn Store = if kind == 0 { &memory } else { &file };
                start.wait();
                store.put(&name, &block(content))
            };
            let (one, two) = std::thread::scope(|scope| {
                let other = scope.spawn(|| put(1));
                (put(2), other.join().unwrap())
            });
            assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
        }
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, if kind == 0 { 0 } else { 100 }, "no temporary file is left");
    }
}

#[test]
fn every_store_names_an_unknown_reference() {
    with_each_store(|store| {
        let name = reference(b"never put");
        let error = store.get(&name).unwrap_err();
        assert!(matches!(error, Error::Store { .. }) && error.to_string().contains(name.as_str()), "{error}");
        assert_eq!(store.list(), Ok(Vec::new()));
    });
}

#[test]
fn only_a_reference_is_read_as_one() {
    for text in [
        "",
        "-",
        "bash",
        "bash-",
        "-0123456789abcdef",
        "../x",
        "../x-0123456789abcdef",
        "/etc/passwd-0123456789abcdef",
        "a/b-0123456789abcdef",
        "a\\b-0123456789abcdef",
        "a\0b-0123456789abcdef",
        "..-0123456789abcdef",
        "bash-0123456789abcde",
        "bash-0123456789abcdef0",
        "bash-0123456789ABCDEF",
        "bash-0123456789abcdeg",
        "Bash-0123456789abcdef",
        "bash-0123456789abcdef\n",
        " bash-0123456789abcdef",
        "bash-0123456789abcdef.log",
        "工具-0123456789abcdef",
        "a-b-0123456789abcdef",
        &format!("{}-0123456789abcdef", "a".repeat(33)),
        &"x".repeat(1_000_000),
    ] {
        let error = Reference::parse(text).map_err(|error| error.to_string());
        assert!(error.as_ref().is_err_and(|text| text.len() < 400), "{error:?}");
    }
    assert_eq!(Reference::parse("bash-0123456789abcdef").unwrap().as_str(), "bash-0123456789abcdef");
}

proptest! {
    #![proptest_config(crate::support::cases(300))]

    #[test]
    fn whatever_a_tool_is_called_its_reference_is_one(tool in any::<String>(), content in any::<Vec<u8>>()) {
        let name = Reference::of(&tool, &content);
        prop_assert_eq!(Reference::parse(name.as_str()).unwrap(), name);
    }

    #[test]
    fn no_text_breaks_the_reading_of_marks(text in r"(\[ullage: )?(retrieved from |9{1,30} earlier messages were removed)?\PC{0,300}\]?\n?.*") {
        let _ = (marked_reference(&text), noted_removals(&text));
        if let Some(marked) = marked(&text, Storing::On, &[]) {
            prop_assert!(text.ends_with(marked.body) && marked.around(marked.body).len() >= marked.body.len());
        }
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_a_store_error() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "in the way").unwrap();
    for path in [file.clone(), file.join("below")] {
        let store = FileStore::new(&path);
        let name = reference(b"x");
        let said = [
            store.put(&name, b"x").unwrap_err(),
            store.get(&name).unwrap_err(),
            store.list().unwrap_err(),
            store.delete(&name).unwrap_err(),
        ];
        for error in said {
            assert!(matches!(&error, Error::Store { problem, .. } if problem.contains("file")), "{error}");
        }
    }
}

#[test]
fn half_written_and_foreign_files_are_not_listed() {
    let folder = tempdir().unwrap();
    let store = FileStore::new(folder.path());
    store.put(&reference(b"whole"), b"whole").unwrap();
    for name in [".1-0.tmp", "bash-0123456789abcdef.tmp", "bash-0123456789abcdef", "notes.log", ".log", "x.log.bak"] {
        fs::write(folder.path().join(name), "half").unwrap();
    }
    assert_eq!(store.list().unwrap(), [reference(b"whole")]);
    // Left by a crash, a temporary file does not stop the next write under its name.
    for turn in 0..4 {
        fs::write(folder.path().join(format!(".{}-{turn}.tmp", std::process::id())), "left over").unwrap();
    }
    store.put(&reference(b"next"), b"next").unwrap();
    assert_eq!(*store.get(&reference(b"next")).unwrap(), b"next");
}

#[test]
fn a_failed_write_leaves_nothing_behind() {
    let folder = tempdir().unwrap();
    let store = FileStore::new(folder.path());
    let name = reference(b"x");
    fs::create_dir(folder.path().join(format!("{name}.log"))).unwrap();
    assert!(matches!(store.put(&name, b"x"), Err(Error::Store { .. })));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Content of a megabyte that is one byte over and over.
fn block(byte: u8) -> Vec<u8> {
    vec![byte; 1 << 20]
}

#[test]
fn threads_that_share_a_store_do_not_disturb_each_other() {
    let folder = tempdir().unwrap();
    let store = FileStore::new(folder.path());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = &store;
            scope.spawn(move || {
                for byte in [thread, 100, 101] {
                    store.put(&reference(&block(byte)), &block(byte)).unwrap();
                }
            });
        }
    });
    for byte in [0, 1, 2, 3, 100, 101] {
        assert!(*store.get(&reference(&block(byte))).unwrap() == block(byte), "{byte}");
    }
    assert_eq!(store.list().unwrap().len(), 6);
}

/// Two agents of one process, each with a store of its own in the folder that they share.
#[test]
fn stores_that_share_a_folder_do_not_disturb_each_other() {
    let folder = tempdir().unwrap();
    let agents = 4_u8;
    for round in 0..8 {
        let together = Barrier::new(usize::from(agents));
        std::thread::scope(|scope| {
            for agent in 0..agents {
                let (folder, together) = (folder.path(), &together);
                scope.spawn(move || {
                    let (store, content) = (FileStore::new(folder), block(round * agents + agent));
                    together.wait();
                    store.put(&reference(&content), &content).unwrap();
                });
            }
        });
    }
    for byte in 0..8 * agents {
        let found = FileStore::new(folder.path()).get(&reference(&block(byte)));
        assert!(found.as_ref().is_ok_and(|found| **found == block(byte)), "{byte} is lost or mixed up");
    }
}
