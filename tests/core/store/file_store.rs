//! The folder form of a store: names, sessions, links, leftovers, and what goes when there is too much.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use tempfile::tempdir;
use ullage::error::Error;
use ullage::store::{FileStore, MemoryStore, Reference, Retention, Sparing, Store, mentions};

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Stores `content` as an output of `tool`; gives the reference back.
fn put(store: &FileStore, tool: &str, content: &[u8]) -> Reference {
    let reference = Reference::of(tool, content);
    store.put(&reference, content).unwrap();
    reference
}

#[test]
fn a_name_says_the_tool_the_time_and_the_hash() {
    let folder = tempdir().unwrap();
    let store = FileStore::new(folder.path());
    let reference = put(&store, "Read File!", b"text");
    let [name] = <[String; 1]>::try_from(names(folder.path())).unwrap();
    let (stem, hash) = name.strip_suffix(".log").unwrap().rsplit_once('_').unwrap();
    assert_eq!(format!("read_file-{hash}"), reference.as_str());
    let stamp = stem.strip_prefix("read_file_").unwrap();
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    assert!(stamp.len() == 15 && digits(&stamp[..8]) && &stamp[8..9] == "_" && digits(&stamp[9..]), "{name}");
    assert_eq!(store.path(&reference).unwrap(), Some(folder.path().join(name)));
    assert_eq!(store.path(&Reference::of("read_file", b"other")).unwrap(), None);
}

#[test]
fn a_name_without_a_date_is_still_read() {
    let folder = tempdir().unwrap();
    let reference = Reference::of("bash", b"from before");
    fs::write(folder.path().join(format!("{reference}.log")), b"from before").unwrap();
    let store = FileStore::new(folder.path());
    assert_eq!(*store.get(&reference).unwrap(), b"from before");
    store.put(&reference, b"from before").unwrap();
    assert_eq!(names(folder.path()), [format!("{reference}.log")]);
    assert_eq!(store.put(&reference, b"else"), Err(Error::Taken { reference: reference.to_string() }));
}

#[test]
fn pictures_stay_pictures() {
    let folder = tempdir().unwrap();
    let store = FileStore::new(folder.path());
    let png = [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\x02\0\0\0"[..], &[0xD7; 90]].concat();
    for (content, suffix) in [
        (&png[..], "png"),
        (b"\xFF\xD8\xFF\xE0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0", "jpg"),
        (b"%PDF-1.7\n1 0 obj <<>> endobj", "pdf"),
        (b"BMW sells cars; a text may begin like a bitmap", "log"),
        (b"{\"json\": true}", "log"),
        (b"caf\xe9 \xe0 la carte, and much more of it in an old encoding", "log"),
        (b"\0\0\0\0", "log"),
    ] {
        let reference = put(&store, "shot", content);
        let path = store.path(&reference).unwrap().unwrap();
        assert_eq!(path.extension().unwrap(), suffix, "{content:?}");
        assert_eq!(fs::read(&path).unwrap(), content);
        assert_eq!(*FileStore::new(folder.path()).get(&reference).unwrap(), content);
    }
}

#[cfg(unix)]
#[test]
fn the_same_bytes_of_two_tools_are_kept_once() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempdir().unwrap();
    let store = FileStore::new(folder.path());
    let [one, two] = ["cat", "read_file"].map(|tool| put(&store, tool, b"the same"));
    let inode = |reference| fs::metadata(store.path(reference).unwrap().unwrap()).unwrap().ino();
    assert_ne!(one, two);
    assert_eq!(inode(&one), inode(&two));
    store.delete(&one).unwrap();
    assert_eq!(*store.get(&two).unwrap(), b"the same");

    let memory = MemoryStore::default();
    for reference in [&one, &two] {
        memory.put(reference, b"the same").unwrap();
    }
    assert!(Arc::ptr_eq(&memory.get(&one).unwrap(), &memory.get(&two).unwrap()));
    memory.delete(&one).unwrap();
    assert_eq!(*memory.get(&two).unwrap(), b"the same");
}

#[test]
fn two_names_of_one_reference_are_one_artifact() {
    let folder = tempdir().unwrap();
    let reference = Reference::of("bash", b"x");
    let (_, hash) = reference.as_str().rsplit_once('-').unwrap();
    // Two processes have stored it in different seconds, and one died before it could step back.
    for second in ["01", "02"] {
        fs::write(folder.path().join(format!("bash_20260101_0000{second}_{hash}.log")), b"x").unwrap();
    }
    let store = FileStore::new(folder.path());
    assert_eq!(store.list().unwrap(), std::slice::from_ref(&reference));
    store.put(&reference, b"x").unwrap();
    store.delete(&reference).unwrap();
    assert_eq!(names(folder.path()), [""; 0]);
}

proptest! {
    #![proptest_config(crate::support::cases(60))]

    #[test]
    fn whatever_a_tool_or_session_is_called_it_stays_in_the_folder(
        tool in any::<String>(),
        session in prop_oneof![
            any::<Vec<u8>>(),
            Just(b"../../etc/cron.d/x".to_vec()),
            Just(b"/etc".to_vec()),
            Just(b"a\0b".to_vec()),
            Just(vec![b'x'; 10_000]),
        ],
        content in any::<Vec<u8>>(),
    ) {
        let outer = tempdir().unwrap();
        let inner = outer.path().join("inner");
        let store = FileStore::new(&inner).of_session(&session);
        let reference = put(&store, &tool, &content);
        prop_assert_eq!(&*store.get(&reference).unwrap(), &content);
        prop_assert_eq!(names(outer.path()), ["inner"]);
        let [folder] = <[String; 1]>::try_from(names(&inner)).unwrap();
        prop_assert_eq!(inner.join(&folder), store.directory());
        let [file] = <[String; 1]>::try_from(names(&store.directory())).unwrap();
        for name in [folder, file] {
            // Names from the Unix program compress end in `.Z`; all other names are in small letters.
            let safe = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.Z".contains(&byte);
            prop_assert!(name.len() < 100 && name.bytes().all(safe) && !name.starts_with('.'), "{}", name);
        }
    }

    #[test]
    fn two_sessions_never_share_a_folder(one in any::<Vec<u8>>(), two in any::<Vec<u8>>()) {
        let directory = |id: &[u8]| FileStore::new("x").of_session(id).directory();
        prop_assert_eq!(one == two, directory(&one) == directory(&two));
    }

    #[test]
    fn every_reference_in_a_text_is_found(before in r"\PC{0,40}[^a-z0-9_]|", tool in "[A-Za-z .]{0,50}", after in r"[^0-9a-f]\PC{0,40}|") {
        let reference = Reference::of(&tool, b"x");
        let text = format!("{before}{reference}{after}");
        prop_assert!(mentions(text.as_bytes()).contains(&reference), "{}", text);
        let (tool, hash) = reference.as_str().rsplit_once('-').unwrap();
        let text = format!("{before}{tool}_20261121_180953_{hash}.log{after}");
        prop_assert!(mentions(text.as_bytes()).contains(&reference), "{}", text);
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_an_error_at_once() {
    type Make = fn(&Path);
    const CONTENT: &[u8] = b"content";
    let (content, reference) = (CONTENT, Reference::of("bash", CONTENT));
    let makers: [(&str, Make); 3] = [
        ("a folder", |path| fs::create_dir(path).unwrap()),
        ("a link out of the folder", |path| {
            fs::write(path.with_file_name("outside"), CONTENT).unwrap();
            std::os::unix::fs::symlink(path.with_file_name("outside"), path).unwrap();
        }),
        ("a pipe", |path| {
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        }),
    ];
    for (kind, make) in makers {
        let folder = tempdir().unwrap();
        let (_, hash) = reference.as_str().rsplit_once('-').unwrap();
        make(&folder.path().join(format!("bash_20260101_000000_{hash}.log")));
        let store = FileStore::new(folder.path());
        let before = names(folder.path());
        for error in [store.put(&reference, content).unwrap_err(), store.get(&reference).unwrap_err()] {
            assert!(matches!(&error, Error::Store { problem, .. } if problem.contains("it is ")), "{kind}: {error}");
        }
        assert_eq!(store.list().unwrap(), [], "{kind}");
        assert_eq!(names(folder.path()), before, "{kind}");
    }
}

#[cfg(unix)]
#[test]
fn a_session_is_no_link_to_elsewhere() {
    let (folder, outside) = (tempdir().unwrap(), tempdir().unwrap());
    let store = FileStore::new(folder.path()).of_session("s");
    std::os::unix::fs::symlink(outside.path(), store.directory()).unwrap();
    let reference = Reference::of("bash", b"x");
    assert!(matches!(store.put(&reference, b"x"), Err(Error::Store { .. })));
    assert!(store.list().is_err() && store.get(&reference).is_err() && store.path(&reference).is_err());
    assert_eq!(names(outside.path()), [""; 0]);
}

#[test]
fn files_of_processes_that_died_are_removed_once_they_are_old() {
    let folder = tempdir().unwrap();
    let old = SystemTime::now() - Duration::from_hours(2);
    for (name, age) in [
        (".1-0.tmp", Some(old)),
        (".1-1.tmp", None),
        (".mine.tmp", Some(old)),
        (".-1.tmp", Some(old)),
        ("notes.txt", Some(old)),
    ] {
        let file = File::create(folder.path().join(name)).unwrap();
        if let Some(age) = age {
            file.set_modified(age).unwrap();
        }
    }
    let store = FileStore::new(folder.path());
    store.list().unwrap();
    assert_eq!(names(folder.path()).len(), 5, "reading removes nothing");
    put(&store, "bash", b"x");
    let left = names(folder.path());
    assert_eq!(left[..4], [".-1.tmp", ".1-1.tmp", ".mine.tmp", left[3].as_str()], "{left:?}");
    assert_eq!(left.len(), 5);
}

/// A folder with so many artifacts, the first the oldest, by a store that is gone.
fn aged(folder: &Path, contents: &[Vec<u8>]) -> Vec<Reference> {
    let store = FileStore::new(folder);
    let references: Vec<Reference> = contents.iter().map(|content| put(&store, "bash", content)).collect();
    for (reference, minutes) in references.iter().zip((1..).map(|at| contents.len() as u64 - at)) {
        let file = File::open(store.path(reference).unwrap().unwrap()).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_mins(minutes + 1)).unwrap();
    }
    references
}

fn numbered(count: u8) -> Vec<Vec<u8>> {
    (0..count).map(|number| vec![number]).collect()
}

fn sorted(references: &[Reference]) -> Vec<Reference> {
    let mut references = references.to_vec();
    references.sort();
    references
}

#[test]
fn the_oldest_go_once_there_are_too_many() {
    for (count, keep, above, goes) in [(9, 3, 9, 0), (10, 3, 9, 7), (10, 0, 0, 10), (10, 20, 5, 0), (10, 10, 10, 0)] {
        let folder = tempdir().unwrap();
        let references = aged(folder.path(), &numbered(count));
        let store = FileStore::new(folder.path()).retaining(Some(Retention::new(keep, above)));
        store.list().unwrap();
        assert_eq!(store.is_above_limit(), goes > 0);
        assert_eq!(store.clean([], Sparing::Own).unwrap(), sorted(&references[..goes]), "{count} {keep} {above}");
        assert_eq!(store.list().unwrap(), sorted(&references[goes..]));
        assert_eq!(store.clean([], Sparing::Own), Ok(Vec::new()));
    }
    let folder = tempdir().unwrap();
    aged(folder.path(), &numbered(200));
    let keeps_all = FileStore::new(folder.path()).retaining(None);
    keeps_all.list().unwrap();
    assert!(!keeps_all.is_above_limit());
    assert_eq!(keeps_all.clean([], Sparing::Nothing), Ok(Vec::new()));
    assert_eq!(FileStore::new(folder.path()).clean([], Sparing::Own).unwrap().len(), 100);
}

#[test]
fn what_is_in_use_stays_however_old() {
    let folder = tempdir().unwrap();
    let mut contents = numbered(6);
    let output = Reference::of("bash", &contents[0]);
    // A transcript names the output, and an older transcript is named by a newer one.
    contents[1] = format!("{{\"text\":\"[ullage: stored as {output}; more]\"}}").into_bytes();
    let transcript = Reference::of("bash", &contents[1]);
    contents[2] = format!("glued to a word_{transcript}").into_bytes();
    let references = aged(folder.path(), &contents);
    let store = FileStore::new(folder.path()).retaining(Some(Retention::new(1, 1)));
    let live = format!("it is stored as {}, see there", references[2]);
    assert_eq!(store.clean([live.as_bytes()], Sparing::Own).unwrap(), sorted(&references[3..5]));
    for reference in &references[..3] {
        assert!(store.get(reference).is_ok());
    }
}

#[test]
fn what_this_store_has_put_or_given_stays_unless_it_is_told() {
    let folder = tempdir().unwrap();
    let references = aged(folder.path(), &numbered(8));
    let store = FileStore::new(folder.path()).retaining(Some(Retention::new(1, 1)));
    store.get(&references[0]).unwrap();
    store.put(&references[1], &[1]).unwrap();
    store.peek(&references[2]).unwrap();
    // Stored again, the second is the newest.
    let goes = sorted(&references[2..]);
    assert_eq!(store.clean([], Sparing::Own).unwrap(), goes);
    assert_eq!(store.clean([], Sparing::Nothing).unwrap(), [references[0].clone()]);
    assert_eq!(store.list().unwrap(), [references[1].clone()]);
}

#[test]
fn what_another_store_stores_again_is_new() {
    let folder = tempdir().unwrap();
    let references = aged(folder.path(), &numbered(8));
    FileStore::new(folder.path()).put(&references[0], &[0]).unwrap();
    let store = FileStore::new(folder.path()).retaining(Some(Retention::new(2, 2)));
    store.clean([], Sparing::Own).unwrap();
    assert_eq!(store.list().unwrap(), sorted(&[references[0].clone(), references[7].clone()]));
}

/// A deleted content says nothing about content that is stored under its reference later.
#[test]
fn what_was_deleted_is_forgotten() {
    let folder = tempdir().unwrap();
    let contents = numbered(4);
    let outputs: Vec<Reference> = contents.iter().map(|content| Reference::of("bash", content)).collect();
    let naming = |output: &Reference| format!("[ullage: stored as {output}; more]").into_bytes();
    aged(folder.path(), &contents);
    let store = FileStore::new(folder.path()).retaining(Some(Retention::new(1, 1)));
    let transcript = Reference::salted("transcript", b"one conversation", 0);
    store.put(&transcript, &naming(&outputs[0])).unwrap();
    let live = transcript.to_string();
    store.clean([live.as_bytes()], Sparing::Own).unwrap();
    assert_eq!(store.list().unwrap(), sorted(&[outputs[0].clone(), transcript.clone()]));
    store.delete(&transcript).unwrap();
    store.put(&outputs[1], &contents[1]).unwrap();
    store.put(&transcript, &naming(&outputs[1])).unwrap();
    store.clean([live.as_bytes()], Sparing::Nothing).unwrap();
    assert_eq!(store.list().unwrap(), sorted(&[outputs[1].clone(), transcript]));
}

/// Acknowledged content stays, and no cleaning fails, however many threads store and clean at once.
#[test]
fn threads_that_clean_remove_nothing_that_was_acknowledged() {
    const THREADS: u8 = 24;
    const TURNS: u8 = 8;
    let folder = tempdir().unwrap();
    // Left by a store that is gone, for the cleanings to remove.
    aged(folder.path(), &numbered(200));
    let store = FileStore::new(folder.path()).retaining(Some(Retention::new(1, 1)));
    let start = std::sync::Barrier::new(usize::from(THREADS));
    let acknowledged: Vec<Reference> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (store, start) = (&store, &start);
                scope.spawn(move || {
                    start.wait();
                    let turns = (0..TURNS).map(|turn| {
                        let reference = put(store, "bash", &[thread, turn, 0]);
                        store.clean([], Sparing::Own).unwrap();
                        reference
                    });
                    turns.collect::<Vec<Reference>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(store.list().unwrap(), sorted(&acknowledged));
}

/// Conversations of many threads, each of which leads to what it stored before by its newest artifact alone, keep all of it.
#[test]
fn threads_that_clean_remove_nothing_that_a_conversation_leads_to() {
    const THREADS: u8 = 12;
    const TURNS: u8 = 16;
    let folder = tempdir().unwrap();
    let store = FileStore::new(folder.path()).retaining(Some(Retention::new(0, 0)));
    let start = std::sync::Barrier::new(usize::from(THREADS));
    let stored: Vec<Reference> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (store, start) = (&store, &start);
                scope.spawn(move || {
                    start.wait();
                    let mut newest = String::new();
                    let turns = (0..TURNS).map(|turn| {
                        let reference = put(store, "transcript", format!("{thread} {turn} {newest}").as_bytes());
                        newest = reference.to_string();
                        store.clean([newest.as_bytes()], Sparing::Own).unwrap();
                        reference
                    });
                    turns.collect::<Vec<Reference>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(store.list().unwrap(), sorted(&stored));
}

/// A file under the name of a reference, as an earlier process left it.
fn left(folder: &Path, number: usize) -> Reference {
    let reference = Reference::parse(&format!("bash-{number:016x}")).unwrap();
    fs::write(folder.join(format!("{reference}.log")), number.to_string()).unwrap();
    reference
}

/// However many conversations one process has had, its folder holds only what the newest of them lead to.
#[test]
fn conversations_that_others_followed_are_not_spared_for_ever() {
    const CONVERSATIONS: usize = 256;
    let folder = tempdir().unwrap();
    let store = FileStore::new(folder.path()).retaining(Some(Retention::new(0, 0)));
    let references: Vec<Reference> = (0..CONVERSATIONS + 20)
        .map(|number| {
            let reference = left(folder.path(), number);
            store.get(&reference).unwrap();
            store.clean([reference.as_str().as_bytes()], Sparing::Own).unwrap();
            reference
        })
        .collect();
    // The last cleaning forgot one more, which the next removes.
    assert_eq!(store.list().unwrap(), sorted(&references[19..]));
}

/// A conversation counts once, however often it is cleaned.
#[test]
fn a_conversation_takes_its_own_place() {
    let folder = tempdir().unwrap();
    let store = FileStore::new(folder.path()).retaining(Some(Retention::new(0, 0)));
    let idle = left(folder.path(), 0);
    store.get(&idle).unwrap();
    store.clean([idle.as_str().as_bytes()], Sparing::Own).unwrap();
    let mut busy = String::new();
    for number in 1..300 {
        busy += &format!(" {}", left(folder.path(), number));
        assert_eq!(store.clean([busy.as_bytes()], Sparing::Own), Ok(Vec::new()));
    }
    assert!(store.get(&idle).is_ok());
}

/// Of references that never stood in a conversation, the newest are spared.
#[test]
fn what_nobody_claims_makes_room_for_what_comes_later() {
    const REMEMBERED: usize = 4_096;
    let folder = tempdir().unwrap();
    let references: Vec<Reference> = (0..REMEMBERED + 10).map(|number| left(folder.path(), number)).collect();
    let store = FileStore::new(folder.path()).retaining(Some(Retention::new(0, 0)));
    store.list().unwrap();
    for reference in &references {
        store.get(reference).unwrap();
    }
    assert_eq!(store.clean([], Sparing::Own).unwrap(), references[..10]);
}
