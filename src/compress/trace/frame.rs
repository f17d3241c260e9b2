//! One frame of a stack: its function, and the origin of its code.

/// The origin of a frame's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    Application,
    Library,
}

/// A frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a> {
    /// The part of the text that is the same for each call of the function at this place.
    pub name: &'a str,
    pub origin: Origin,
    /// The beginning of further lines that belong to the frame.
    pub under: &'static str,
}

/// Reads the first line of a frame.
pub(super) fn frame(line: &str) -> Option<Frame<'_>> {
    let body = line.trim_start();
    match body.as_bytes().first()? {
        b'F' => python(line, body),
        b'a' => at(line, body),
        b'.' => java_more(line, body),
        b'0'..=b'9' => rust(line, body),
        _ => go(line),
    }
}

fn new_frame<'a>(name: &'a str, origin: Origin, under: &'static str) -> Frame<'a> {
    Frame { name, origin, under }
}

/// Reads `  File "/app/a.py", line 3, in run`, which is followed by the code.
fn python<'a>(line: &str, body: &'a str) -> Option<Frame<'a>> {
    let path = body.strip_prefix("File \"")?.split('"').next()?;
    (line.len() > body.len() && body.contains("\", line ")).then(|| new_frame(body, origin_of_place(path), "    "))
}

/// Reads `at com.example.A.run(A.java:3)`, `at run (/app/a.js:3:5)` and `at App.A.Run() in /app/A.cs:line 3`.
fn at<'a>(line: &str, body: &'a str) -> Option<Frame<'a>> {
    const LIBRARIES: [&str; 22] = [
        "java.",
        "javax.",
        "jakarta.",
        "jdk.",
        "sun.",
        "com.sun.",
        "kotlin.",
        "scala.",
        "org.springframework.",
        "org.apache.",
        "org.hibernate.",
        "org.junit.",
        "io.netty.",
        "reactor.",
        "com.zaxxer.",
        "com.fasterxml.",
        "org.eclipse.",
        "System.",
        "Microsoft.",
        "node:",
        "native ",
        "async node:",
    ];
    let name = body.strip_prefix("at ")?;
    (line.len() > body.len() && !name.is_empty()).then_some(())?;
    // A module may precede the class: `java.base/java.lang.Thread.run`, `app//com.example.A.run`.
    let class = name.split_once('(').map_or(name, |(class, _)| class);
    let class = class.rsplit('/').next().unwrap_or(class);
    let is_library = LIBRARIES.iter().any(|library| name.starts_with(library) || class.starts_with(library));
    let origin = if is_library { Origin::Library } else { origin_of_place(name) };
    Some(new_frame(name, origin, "             at "))
}

/// Reads `... 23 more`.
fn java_more<'a>(line: &str, body: &'a str) -> Option<Frame<'a>> {
    let is_more = body.starts_with("... ") && (body.ends_with(" more") || body.ends_with(" common frames omitted"));
    (is_more && line.len() > body.len()).then(|| new_frame(body, Origin::Library, "\0"))
}

/// Reads `  12: core::panicking::panic`, which is followed by `             at /rustc/...`.
fn rust<'a>(line: &str, body: &'a str) -> Option<Frame<'a>> {
    const LIBRARIES: [&str; 12] = [
        "core::",
        "std::",
        "alloc::",
        "<core::",
        "<std::",
        "<alloc::",
        "rust_begin_unwind",
        "__rust",
        "test::",
        "_start",
        "__libc_start",
        "tokio::",
    ];
    let (number, name) = body.split_once(": ")?;
    let is_frame =
        line.len() > body.len() && number.bytes().all(|byte| byte.is_ascii_digit()) && !name.starts_with(' ');
    let name = name.trim();
    // An address may precede the name.
    let name = name.split_once(" - ").filter(|(address, _)| address.starts_with("0x")).map_or(name, |(_, name)| name);
    let is_library = LIBRARIES.iter().any(|library| name.starts_with(library));
    is_frame
        .then(|| new_frame(name, if is_library { Origin::Library } else { Origin::Application }, "             at "))
}

/// Reads `main.run(0xc000012345, 0x3)`, which is followed by a tab and `/app/main.go:12 +0x1d`.
fn go(line: &str) -> Option<Frame<'_>> {
    const LIBRARIES: [&str; 10] = [
        "runtime.",
        "net/http.",
        "net.",
        "sync.",
        "internal/",
        "testing.",
        "database/sql.",
        "os.",
        "syscall.",
        "reflect.",
    ];
    let name = line.strip_prefix("created by ").unwrap_or(line);
    let end = if name.len() < line.len() { name.find(" in goroutine").unwrap_or(name.len()) } else { name.rfind('(')? };
    let is_call = name.len() < line.len() || line.ends_with(')');
    let function = &name[..end];
    let is_name = function.contains('.')
        && !function.contains([' ', '"', '=', ',', ':'])
        && function.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_library = LIBRARIES.iter().any(|library| function.starts_with(library));
    (is_call && is_name)
        .then(|| new_frame(function, if is_library { Origin::Library } else { Origin::Application }, "\t"))
}

/// Returns the origin of the code at a path.
pub(super) fn origin_of_place(place: &str) -> Origin {
    const LIBRARIES: [&str; 14] = [
        "site-packages/",
        "dist-packages/",
        "node_modules/",
        "/usr/lib/",
        "/usr/local/lib/",
        "/lib/python",
        "/rustc/",
        "/.cargo/registry/",
        "/pkg/mod/",
        "/go/src/",
        "node:",
        "<frozen ",
        "/vendor/",
        "webpack:/",
    ];
    if LIBRARIES.iter().any(|library| place.contains(library)) { Origin::Library } else { Origin::Application }
}

/// Returns the state in `goroutine 12 [chan receive, 3 minutes]:`.
pub(super) fn goroutine(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("goroutine ")?;
    let state = rest.split_once('[')?.1.strip_suffix("]:")?;
    Some(state.split(',').next().unwrap_or(state))
}
