//! The names of stored files and of the folders of sessions.

use std::time::{Duration, SystemTime};

use crate::store::Reference;
use crate::store::kind::ContentKind;
use crate::store::reference::safe_name;

/// The suffix of old file names without a date: `{reference}.log`.
const UNDATED_SUFFIX: &str = "log";

/// Numbers of digits of a date and of a time.
const DATE: usize = 8;
const TIME: usize = 6;

/// Hexadecimal digits of the hash in a session's folder: 128 bits, so no two ids share one.
const SESSION_DIGITS: usize = 32;

/// The last second of the year 9999, counted from 1970.
const LAST_SECOND: u64 = 253_402_300_799;

/// Returns `{tool}_{YYYYMMDD_HHMMSS}_{hash}.{suffix}`: the tool and hash of the reference, and the time in UTC.
pub(super) fn file_name(reference: &Reference, now: SystemTime, kind: ContentKind) -> String {
    let (tool, hash) = (reference.tool(), reference.hash());
    format!("{tool}_{}_{hash}.{}", stamp(now), kind.suffix())
}

/// Returns the reference in a file name.
pub(in crate::store) fn reference_of(name: &str) -> Option<Reference> {
    let (stem, suffix) = name.rsplit_once('.')?;
    if suffix == UNDATED_SUFFIX
        && let Ok(reference) = Reference::parse(stem)
    {
        return Some(reference);
    }
    let mut parts = stem.rsplitn(4, '_');
    let (hash, time, date, tool) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let digits = |text: &str, count| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if !(digits(date, DATE) && digits(time, TIME) && ContentKind::is_suffix(suffix)) {
        return None;
    }
    Reference::parse(&format!("{tool}-{hash}")).ok()
}

/// Returns the folder of a session: the characters of its id that a name may have, and a hash of the whole id.
pub(super) fn session_folder(id: &[u8]) -> String {
    let hash = blake3::hash(id).to_hex();
    format!("{}-{}", safe_name(&String::from_utf8_lossy(id)), &hash[..SESSION_DIGITS])
}

/// Formats the time as `20261121_180953`. A time outside the years that can be written becomes the nearest one.
fn stamp(now: SystemTime) -> String {
    let latest = SystemTime::UNIX_EPOCH + Duration::from_secs(LAST_SECOND);
    let written = humantime::format_rfc3339_seconds(now.clamp(SystemTime::UNIX_EPOCH, latest)).to_string();
    written.chars().filter_map(|c| if c == 'T' { Some('_') } else { c.is_ascii_digit().then_some(c) }).collect()
}
