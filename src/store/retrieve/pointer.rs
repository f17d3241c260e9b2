//! Finds a value inside JSON by its pointer: <https://www.rfc-editor.org/rfc/rfc6901>.
//!
//! It passes over the text once, builds no tree and does not recurse, so the size and depth of the content do not
//! matter. Values that are not on the path are skipped by their brackets and quotes. So content that is cut off, or
//! damaged after the value, can be read too.

use std::borrow::Cow;

use crate::error::{Error, Result, shown};
use crate::numbers::thousands;
use crate::store::nearest;

/// The value at a pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value<'a> {
    /// The decoded text of a string, or the source of any other value.
    pub text: Cow<'a, str>,
    /// The word for its type.
    pub kind: &'static str,
}

/// Returns the value in `json` at `pointer`. Consecutive values, such as the lines of a transcript, count as an array.
/// Of equal keys the first counts. O(length).
///
/// # Errors
/// `Store` if `json` is not JSON, or if the pointer is malformed or leads nowhere. The error names the nearest keys.
pub(super) fn value_at<'a>(json: &'a str, pointer: &str) -> Result<Value<'a>> {
    let tokens = tokens(pointer)?;
    let bytes = json.as_bytes();
    let start = after_space(bytes, 0);
    let looks_like_json = bytes.get(start).is_some_and(|first| b"{[\"-0123456789tfn".contains(first));
    let end = after_value(bytes, start).filter(|_| looks_like_json);
    // An array that is cut off has no end, and is still read up to the value.
    let is_container = matches!(bytes.get(start), Some(b'{' | b'['));
    if end.is_none() && !is_container {
        return Err(failed("the content is not JSON", "ask for lines or a pattern"));
    }
    let many = end.is_some_and(|end| after_space(bytes, end) < bytes.len());
    let Some((first, rest)) = tokens.split_first().filter(|_| many) else {
        return walk(json, start, &tokens, 0);
    };
    let at = element(bytes, start, Separators::BySpace, first, "")?;
    walk(json, at, rest, first.len() + 1)
}

/// Returns the steps of a pointer.
fn tokens(pointer: &str) -> Result<Vec<Cow<'_, str>>> {
    let Some(steps) = pointer.strip_prefix('/') else {
        if pointer.is_empty() {
            return Ok(Vec::new());
        }
        return Err(failed(
            &format!("'{}' is not a JSON pointer", shown(pointer)),
            "begin it with a slash, as in /items/0/name",
        ));
    };
    steps.split('/').map(|step| unescaped(step, pointer)).collect()
}

/// Decodes `~1` to a slash and `~0` to a tilde. No other character may follow a tilde.
fn unescaped<'a>(step: &'a str, pointer: &str) -> Result<Cow<'a, str>> {
    if !step.contains('~') {
        return Ok(Cow::Borrowed(step));
    }
    let after_tildes = step.split('~').skip(1);
    if after_tildes.into_iter().any(|after| !after.starts_with(['0', '1'])) {
        return Err(failed(
            &format!("'{}' is not a JSON pointer", shown(pointer)),
            "write a tilde in a key as ~0 and a slash as ~1",
        ));
    }
    Ok(Cow::Owned(step.replace("~1", "/").replace("~0", "~")))
}

/// Follows `steps` from the value at `at`. `walked` is the part of the pointer up to there, for errors.
fn walk<'a>(json: &'a str, mut at: usize, steps: &[Cow<'_, str>], walked: usize) -> Result<Value<'a>> {
    let bytes = json.as_bytes();
    let mut path = String::with_capacity(walked);
    for step in steps {
        at = match bytes.get(at) {
            Some(b'{') => member(json, at, step, &path)?,
            Some(b'[') => element(bytes, at + 1, Separators::ByComma, step, &path)?,
            _ => {
                let problem = format!("'{}' is {}, with nothing inside", shown(&path), kind_at(bytes, at));
                return Err(failed(&problem, "leave out the rest of the pointer"));
            }
        };
        path.push('/');
        path.push_str(step);
    }
    let end = after_value(bytes, at).unwrap_or(bytes.len());
    let written = &json[at..end];
    let is_string = bytes.get(at) == Some(&b'"');
    // A string with half of a surrogate pair is not text, and stays as written.
    let decoded = is_string.then(|| serde_json::from_str::<String>(written).ok()).flatten();
    Ok(Value { text: decoded.map_or(Cow::Borrowed(written), Cow::Owned), kind: kind_at(bytes, at) })
}

/// Returns the start of the value of the key `wanted`, in the object at `at`.
fn member(json: &str, at: usize, wanted: &str, path: &str) -> Result<usize> {
    let bytes = json.as_bytes();
    let mut keys = Vec::new();
    let mut next = after_space(bytes, at + 1);
    while bytes.get(next) == Some(&b'"') {
        let end = after_value(bytes, next).ok_or_else(|| broken(next))?;
        let written = &json[next..end];
        let key = if written.contains('\\') {
            serde_json::from_str(written).map_or(Cow::Borrowed(written), Cow::Owned)
        } else {
            Cow::Borrowed(&written[1..written.len() - 1])
        };
        let colon = after_space(bytes, end);
        if bytes.get(colon) != Some(&b':') {
            return Err(broken(colon));
        }
        let value = after_space(bytes, colon + 1);
        if key == wanted {
            return Ok(value);
        }
        keys.push(key);
        let end = after_space(bytes, after_value(bytes, value).ok_or_else(|| broken(value))?);
        next = if bytes.get(end) == Some(&b',') { after_space(bytes, end + 1) } else { end };
    }
    if bytes.get(next) != Some(&b'}') {
        return Err(broken(next));
    }
    let problem = format!("no key '{}' in '{}'", shown(wanted), shown(path));
    let nearest: Vec<&str> = nearest(wanted, keys.iter().map(AsRef::as_ref));
    Err(match nearest.as_slice() {
        [] => failed(&problem, "it holds no keys at all"),
        nearest => {
            failed(&problem, &format!("the nearest of its {} keys: {}", thousands(keys.len()), nearest.join(", ")))
        }
    })
}

/// The separators of a list's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separators {
    /// Commas, in an array, which ends with a bracket.
    ByComma,
    /// Space, between documents, which end with the text.
    BySpace,
}

/// Returns the start of element `wanted` of the list whose first element is at `at`.
fn element(bytes: &[u8], at: usize, separated: Separators, wanted: &str, path: &str) -> Result<usize> {
    let is_index = wanted == "0" || (!wanted.starts_with('0') && wanted.bytes().all(|b| b.is_ascii_digit()));
    let Some(index) = wanted.parse::<usize>().ok().filter(|_| is_index) else {
        let problem = format!("'{}' is an array, and '{}' no index in it", shown(path), shown(wanted));
        return Err(failed(&problem, "count its items from 0"));
    };
    let mut next = after_space(bytes, at);
    let mut passed = 0;
    while next < bytes.len() && bytes[next] != b']' {
        if passed == index {
            return Ok(next);
        }
        let end = after_space(bytes, after_value(bytes, next).ok_or_else(|| broken(next))?);
        next = match (separated, bytes.get(end)) {
            (Separators::ByComma, Some(b',')) => after_space(bytes, end + 1),
            (Separators::ByComma, Some(b']')) | (Separators::BySpace, _) => end,
            (Separators::ByComma, _) => return Err(broken(end)),
        };
        passed += 1;
    }
    let problem = format!("no item {} in '{}'", shown(wanted), shown(path));
    Err(failed(&problem, &format!("it holds {}, counted from 0", thousands(passed))))
}

fn after_space(bytes: &[u8], at: usize) -> usize {
    let space = bytes.get(at..).unwrap_or_default().iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
    at + space
}

/// Returns the end of the value at `at`; `None` if the text ends first, or there is no value.
fn after_value(bytes: &[u8], at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut next = at;
    loop {
        next = match bytes.get(next)? {
            b'"' => after_string(bytes, next)?,
            b'{' | b'[' => {
                depth += 1;
                next + 1
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                next + 1
            }
            b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' if depth == 0 => return None,
            b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' => next + 1,
            _ => next + bytes[next..].iter().take_while(|byte| !b",:{}[]\" \t\r\n".contains(byte)).count(),
        };
        if depth == 0 {
            return Some(next);
        }
    }
}

/// Returns the end of the string at `at`.
fn after_string(bytes: &[u8], at: usize) -> Option<usize> {
    let mut next = at + 1;
    loop {
        next += bytes.get(next..)?.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        if bytes[next] == b'"' {
            return Some(next + 1);
        }
        next += 2;
    }
}

fn kind_at(bytes: &[u8], at: usize) -> &'static str {
    match bytes.get(at) {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a truth value",
        Some(b'n') => "null",
        _ => "a number",
    }
}

fn broken(at: usize) -> Error {
    failed(&format!("the JSON is broken or cut off at byte {}", thousands(at)), "ask for lines or a pattern")
}

fn failed(problem: &str, remedy: &str) -> Error {
    Error::Store { problem: problem.to_owned(), remedy: remedy.to_owned() }
}
