//! Any files in the folder of a store: none of them is read as what it is not or deleted when it is no stored content, and
//! what is put comes back.

#![no_main]

use std::fs;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use ullage::error::Error;
use ullage::store::{FileStore, Reference, Retention, Sparing, Store, search};

/// Files are small: what a store does with their names is the question.
const MOST_FILES: usize = 6;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    session: Option<&'a [u8]>,
    tool: &'a str,
    content: &'a [u8],
    files: Vec<(&'a str, &'a [u8])>,
}

fuzz_target!(|input: Input<'_>| {
    let outer = tempfile::tempdir().expect("there is a folder for temporary files");
    let folder = outer.path().join("store");
    let mut store = FileStore::new(&folder).retaining(Some(Retention::new(0, 0)));
    if let Some(session) = input.session {
        store = store.of_session(session);
    }
    let directory = store.directory();
    assert!(directory.starts_with(&folder), "{directory:?}");
    fs::create_dir_all(&directory).expect("the name of a session is one of a folder");
    for (name, content) in input.files.iter().take(MOST_FILES) {
        let is_name = !name.is_empty() && !name.contains(['/', '\0']) && !matches!(*name, "." | "..");
        if is_name {
            let _ = fs::write(directory.join(name), content); // A name may be too long.
        }
    }
    let reference = Reference::of(input.tool, input.content);
    match store.put(&reference, input.content) {
        Ok(()) => assert_eq!(*store.get(&reference).expect("it was put"), input.content),
        Err(error) => assert!(matches!(error, Error::Taken { .. }), "{error}"),
    }
    let listed = store.list().expect("a folder can be listed");
    assert!(listed.contains(&reference));
    let _ = search(&store, ".", 1, 100);
    let removed = store.clean([], Sparing::Own).expect("the files can be deleted");
    assert!(removed.iter().all(|gone| listed.contains(gone)));
    assert_eq!(fs::read_dir(outer.path()).expect("it is a folder").count(), 1, "nothing is written beside the folder");
});
