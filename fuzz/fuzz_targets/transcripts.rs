//! Any bytes, as the file of a transcript: it opens, what is appended is there when it is opened again, and so is all that
//! was there before.

#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use ullage::store::{Flush, Line, Locking, Transcript};

const RECORD: &str = r#"{"appended": true}"#;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    let path = folder.path().join("log.jsonl");
    for locking in [Locking::Exclusive, Locking::None] {
        fs::write(&path, bytes).expect("the disk is not full");
        let open = || Transcript::open(&path, Flush::Never, locking).expect("any file opens");
        let first = open();
        first.transcript.append(RECORD).expect("the disk is not full");
        first.transcript.close().expect("it is open");
        let second = open();
        let Some((last, before)) = second.lines.split_last() else { panic!("the record is lost: {bytes:?}") };
        assert_eq!(last, &Line::Record(RECORD.to_owned()), "{bytes:?}");
        assert!(before.starts_with(&first.lines) || first.lines.is_empty(), "{bytes:?}");
        assert!(fs::read(&path).expect("it was written").starts_with(bytes), "what was there is never changed");
    }
});
