//! The house stands: a module uses only the floors below its own, and each door to the outside is in one place.
//!
//! Reads the sources as text, so that it needs no compiler plugin and sees code behind every feature. Comments and
//! strings are blanked first: a link in a doc comment may point upwards. Unit tests inside a module are held to the
//! same rule; what needs a higher floor to be tested belongs in `tests/`.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The rule for uses among the modules of one floor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Neighbours {
    /// Nobody: they stand side by side.
    Apart,
    /// A module may use those named before it.
    InOrder,
}

/// The house, from the ground up. A new module of the crate is given its floor here.
const FLOORS: &[(Neighbours, &[&str])] = &[
    (Neighbours::InOrder, &["numbers", "text", "anchors", "error", "parallel", "shared", "media", "tokens"]),
    (Neighbours::Apart, &["message"]),
    (Neighbours::Apart, &["wire", "invariants", "ledger"]),
    (Neighbours::Apart, &["compress", "store", "validity"]),
    (Neighbours::InOrder, &["calls", "digest", "history"]),
    (Neighbours::InOrder, &["summary", "policy", "economics", "budget", "edit", "working_copy", "report"]),
    (Neighbours::Apart, &["stages"]),
    (Neighbours::Apart, &["planner"]),
    (Neighbours::Apart, &["engine", "replay"]),
    (Neighbours::Apart, &["view"]),
    (Neighbours::Apart, &["bindings"]),
];

/// Within a folder, each file may use those named before it; `mod.rs` uses all of them.
const FILES_IN_ORDER: (&str, &[&str]) = (
    "planner",
    &[
        "deadline",
        "tools",
        "occupant",
        "plan",
        "rendering",
        "neighbours",
        "gap",
        "shorten",
        "prune",
        "fill",
        "render",
        "exact",
        "explain",
        "fits",
        "pending",
    ],
);

/// The crates of the boundary, and the only room that may name them.
const BOUNDARY: (&[&str], &str) = (&["pyo3", "pythonize"], "bindings");

/// The only room that may name `std::fs`.
const FILES: &str = "store";

#[test]
fn a_module_uses_only_lower_floors() {
    let sources = sources();
    assert!(
        sources.iter().any(|(path, _)| path == Path::new("src/error.rs")),
        "src/error.rs was not seen: this test looks in the wrong place"
    );

    let violations: Vec<String> =
        sources.iter().flat_map(|(path, text)| check(path, text)).map(|violation| violation.to_string()).collect();
    assert!(violations.is_empty(), "the floors are broken:\n{}", violations.join("\n"));
}

#[test]
fn the_files_of_a_folder_use_only_those_before_them() {
    let (folder, order) = FILES_IN_ORDER;
    let place = |name: &str| order.iter().position(|other| *other == name);
    for (path, text) in sources() {
        let rooms = rooms(&path);
        let [room, file] = &rooms[..] else { continue };
        if room != folder {
            continue;
        }
        let own = place(file).unwrap_or_else(|| panic!("{file} has no place in FILES_IN_ORDER"));
        for (line, used) in paths(&tokens(&blank(&text))) {
            if let [up, name, ..] = &used[..]
                && up == "super"
            {
                assert!(place(name).is_some_and(|place| place < own), "{}:{line}: {}", path.display(), used.join("::"));
            }
        }
    }
}

#[test]
fn a_use_of_a_higher_floor_is_reported_where_it_stands() {
    let text = "//! Cuts.\n\nuse crate::error::Error;\nuse crate::engine::Engine;\n";
    assert_eq!(
        reported("src/message.rs", text),
        [
            "src/message.rs:4: `crate::engine::Engine`: `message` is on floor 2, `engine` on floor 9; look down, never up"
        ]
    );
}

#[test]
fn every_way_to_name_a_higher_floor_is_seen() {
    for text in [
        "use crate::planner::Plan;",
        "use crate::planner;",
        "pub(crate) use crate::planner as plans;",
        "use crate::{error::{self, Error}, planner::{Plan}};",
        "use crate::{\n    error::Error,\n    planner,\n};",
        "use {crate::planner::Plan, std::fmt};",
        "fn run() { crate::planner::run(); }",
        "fn run(plan: &'static crate::planner::Plan) {}",
        "const QUOTE: char = '\"'; use crate::planner::Plan; const OTHER: char = '\\'';",
        "use super::super::planner::Plan;",
        "mod tests { use super::super::super::planner::Plan; }",
    ] {
        assert_eq!(reported("src/wire/bedrock.rs", text).len(), 1, "{text}");
    }
    // Each branch of a group is named, and a name given by `as` is none.
    let text = "use crate::{error as planner, planner::{self, Plan as Plans}, engine as error};";
    assert_eq!(reported("src/wire/bedrock.rs", text).len(), 3);
}

#[test]
fn lower_floors_own_rooms_comments_and_strings_are_free() {
    let text = r##"
        //! See [`crate::engine::Engine`]. /* crate::engine::Engine */
        /* crate::engine::Engine /* nested */ crate::engine::Engine */
        use crate::message::{Message, Part};
        use crate::wire::node::Node;
        use super::node::Node;
        use serde::engine::Value;
        const A: &str = "crate::engine::Engine \" crate::engine::Engine";
        const B: &str = r#"crate::engine::Engine " crate::engine::Engine"#;
        const C: &[u8] = br"crate::engine::Engine\";
    "##;
    assert_eq!(reported("src/wire/bedrock.rs", text), [""; 0]);
}

#[test]
fn neighbours_keep_apart_or_to_their_order() {
    for (path, text, allowed) in [
        ("src/wire/mod.rs", "use crate::ledger::Ledger;", false),
        ("src/ledger/mod.rs", "use crate::invariants::Cuts;", false),
        ("src/compress/log.rs", "use crate::store::Store;", false),
        ("src/tokens/mod.rs", "use crate::error::Error;", true),
        ("src/error.rs", "use crate::tokens::TokenCount;", false),
        ("src/report.rs", "use crate::policy::Policy;", true),
        ("src/budget.rs", "use crate::edit::Edit;", false),
    ] {
        assert_eq!(reported(path, text).is_empty(), allowed, "{path}: {text}");
    }
}

#[test]
fn a_module_without_a_floor_is_reported() {
    for (path, text) in [
        ("src/attic.rs", ""),
        ("src/engine.rs", "use crate::attic::Trunk;"),
        ("src/engine.rs", "use crate::Trunk;"),
        ("src/engine.rs", "use crate::*;"),
    ] {
        assert_eq!(reported(path, text).len(), 1, "{path}: {text}");
    }
}

#[test]
fn the_doors_to_the_outside_are_each_in_one_place() {
    for (path, text, allowed) in [
        ("src/bindings/view.rs", "use pyo3::prelude::*;", true),
        ("src/lib.rs", "use pyo3::prelude::*;", false),
        ("src/wire/node.rs", "#[pyo3::pyclass]", false),
        ("src/policy.rs", "fn f() { pythonize::depythonize(); }", false),
        ("src/store/file.rs", "use std::fs::File;", true),
        ("src/bindings/store.rs", "use std::fs;", false),
        ("src/engine.rs", "use std::{fmt, fs::{self, File}};", false),
        ("src/engine.rs", "fn f() { ::std::fs::read(); }", false),
        ("src/engine.rs", "use std::fmt;", true),
    ] {
        assert_eq!(reported(path, text).is_empty(), allowed, "{path}: {text}");
    }
}

/// One broken rule, with the place.
struct Violation {
    path: PathBuf,
    line: usize,
    offender: String,
    rule: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: `{}`: {}", self.path.display(), self.line, self.offender, self.rule)
    }
}

/// The reports of [`check`], as text.
fn reported(path: &str, text: &str) -> Vec<String> {
    check(Path::new(path), text).iter().map(ToString::to_string).collect()
}

/// The broken rules in one source file.
fn check(path: &Path, text: &str) -> Vec<Violation> {
    let rooms = rooms(path);
    // The root of the crate names every module and is on no floor.
    let own = rooms.first().map(String::as_str);
    let violation =
        |line, offender: &str, rule| Violation { path: path.to_owned(), line, offender: offender.to_owned(), rule };
    if let Some(own) = own
        && floor(own).is_none()
    {
        return vec![violation(1, own, format!("`{own}` has no floor; give it one in FLOORS"))];
    }

    let tokens = tokens(&blank(text));
    let mut violations = Vec::new();
    let (boundary, home) = BOUNDARY;
    for token in tokens.iter().filter(|token| boundary.contains(&token.text.as_str())) {
        if own != Some(home) {
            violations.push(violation(token.line, &token.text, format!("only src/{home} may name it")));
        }
    }
    for (line, used) in paths(&tokens) {
        let rule = if used.starts_with(&["std".to_owned(), "fs".to_owned()]) {
            (own != Some(FILES)).then(|| format!("only src/{FILES} may touch files"))
        } else {
            own.zip(target(&used, rooms.len())).and_then(|(own, target)| objection(own, target))
        };
        violations.extend(rule.map(|rule| violation(line, &used.join("::"), rule)));
    }
    violations
}

/// Why `own` may not use `target`, both names of modules at the root of the crate.
fn objection(own: &str, target: &str) -> Option<String> {
    let (Some((own_floor, own_place)), Some((floor, place))) = (floor(own), floor(target)) else {
        return Some(format!("`{target}` has no floor; name the module that it lives in, or give it one in FLOORS"));
    };
    if floor > own_floor {
        let (own_floor, floor) = (own_floor + 1, floor + 1);
        return Some(format!("`{own}` is on floor {own_floor}, `{target}` on floor {floor}; look down, never up"));
    }
    if floor < own_floor || place == own_place {
        return None;
    }
    match FLOORS[floor].0 {
        Neighbours::Apart => Some(format!("`{own}` and `{target}` are neighbours and do not use each other")),
        Neighbours::InOrder => (place > own_place).then(|| format!("`{target}` comes after `{own}` on their floor")),
    }
}

/// The floor of a module and its place there, both from zero.
fn floor(module: &str) -> Option<(usize, usize)> {
    FLOORS
        .iter()
        .enumerate()
        .find_map(|(floor, (_, modules))| modules.iter().position(|name| *name == module).map(|place| (floor, place)))
}

/// The module at the root of the crate that a path leads to, seen from a file `depth` modules below the root.
/// `super` that climbs past the file's own modules counts as `crate`: it does so at the latest in an inline module.
fn target(path: &[String], depth: usize) -> Option<&str> {
    let climbed = path.iter().take_while(|segment| *segment == "super").count();
    let rest = match path[0].as_str() {
        "crate" => &path[1..],
        "super" if climbed >= depth => &path[climbed..],
        // A name beside the file's own items: `super::*` in its tests, for one.
        _ => return None,
    };
    rest.first().map(String::as_str).filter(|name| path[0] == "crate" || floor(name).is_some())
}

/// `src/wire/bedrock.rs` is `["wire", "bedrock"]`, `src/wire/mod.rs` is `["wire"]`, `src/lib.rs` is `[]`.
fn rooms(path: &Path) -> Vec<String> {
    path.with_extension("")
        .components()
        .skip(1)
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .filter(|name| name != "mod" && name != "lib")
        .collect()
}

/// Every Rust file of the crate, with its path from the root of the project.
fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Vec::new();
    let mut folders = vec![root.join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of sources can be listed") {
            let path = entry.expect("an entry of a folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source file is UTF-8");
                let path = path.strip_prefix(root).expect("the file was found below the root");
                sources.push((path.to_owned(), text));
            }
        }
    }
    sources.sort();
    sources
}

/// The same text with comments, strings and characters as spaces. Lines stay where they are.
fn blank(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut blanked = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = blank_end(&chars, at);
        if end == at {
            blanked.push(chars[at]);
            at += 1;
        } else {
            blanked.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    blanked
}

/// End of the comment or literal that begins at `at`; `at` itself if none begins.
fn blank_end(chars: &[char], at: usize) -> usize {
    let rest = &chars[at..];
    let follows_word = at > 0 && is_word(chars[at - 1]);
    let length = match rest {
        ['/', '/', ..] => rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()),
        ['/', '*', ..] => comment_length(rest),
        ['"', ..] | ['\'', '\\', ..] => quoted_length(rest),
        // Any other quote begins a lifetime.
        ['\'', _, '\'', ..] => 3,
        ['r', '"' | '#', ..] if !follows_word => raw_length(rest, 1),
        ['b' | 'c', 'r', '"' | '#', ..] if !follows_word => raw_length(rest, 2),
        _ => 0,
    };
    at + length
}

/// Block comments nest.
fn comment_length(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match &rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// A literal up to the quote that it began with; a backslash hides what follows it.
fn quoted_length(rest: &[char]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            c if c == rest[0] => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// A raw string whose prefix is `prefix` long; zero for a raw identifier.
fn raw_length(rest: &[char], prefix: usize) -> usize {
    let hashes = rest[prefix..].iter().take_while(|c| **c == '#').count();
    let body = prefix + hashes + 1;
    if rest.get(body - 1) != Some(&'"') {
        return 0;
    }
    let mut close = vec!['"'];
    close.resize(hashes + 1, '#');
    rest[body..]
        .windows(close.len())
        .position(|window| *window == close)
        .map_or(rest.len(), |found| body + found + close.len())
}

/// A word, `::`, or one other character.
struct Token {
    text: String,
    line: usize,
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            let (text, after) = rest.split_at(length);
            tokens.push(Token { text: text.to_owned(), line: index + 1 });
            rest = after.trim_start();
        }
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Every path of two segments or more, with the line of its last; groups in braces are spelled out.
fn paths(tokens: &[Token]) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let next = tokens.get(at + 1).map(|token| token.text.as_str());
        if tokens[at].text.starts_with(is_word) && next == Some("::") {
            at = walk(tokens, at, &[], &mut found);
        } else {
            at += 1;
        }
    }
    found
}

/// Follows one path or one branch of a group from `at`; returns where it ends.
fn walk(tokens: &[Token], at: usize, before: &[String], found: &mut Vec<(usize, Vec<String>)>) -> usize {
    let mut path = before.to_vec();
    let mut at = at;
    loop {
        match tokens.get(at).map(|token| token.text.as_str()) {
            Some("{") if !path.is_empty() => {
                at += 1;
                while let Some(token) = tokens.get(at)
                    && token.text != "}"
                {
                    at = match token.text.as_str() {
                        "," => at + 1,
                        "as" => at + 2,
                        _ => walk(tokens, at, &path, found).max(at + 1),
                    };
                }
                return at + 1;
            }
            Some(segment) if segment == "*" || segment.starts_with(is_word) => {
                path.push(segment.to_owned());
                at += 1;
            }
            _ => break,
        }
        if tokens.get(at).is_none_or(|token| token.text != "::") {
            break;
        }
        at += 1;
    }
    if path.len() > before.len().max(1) {
        let line = tokens[at.min(tokens.len()) - 1].line;
        found.push((line, path));
    }
    at
}
