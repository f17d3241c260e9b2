//! Recognizes declarations by the first words of a line.

/// A kind of declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Declaration {
    /// A declaration with a body, which is left out.
    Function,
    /// A declaration with members.
    Type,
    Constant,
    Import,
    /// A decorator or annotation, which describes the next declaration.
    Attribute,
}

/// Returns the kind of declaration on this line.
pub(super) fn declaration(line: &str) -> Option<Declaration> {
    let body = line.trim();
    let is_outer = !line.starts_with([' ', '\t']);
    match body.as_bytes().first()? {
        b'@' => return Some(Declaration::Attribute),
        b'#' => {
            return match () {
                () if body.starts_with("#include") => Some(Declaration::Import),
                () if body.starts_with("#define ") => Some(Declaration::Constant),
                () => None,
            };
        }
        byte if !byte.is_ascii_alphabetic() && !matches!(byte, b'_' | b'~' | b'$' | b'[' | b'*') => return None,
        _ => {}
    }
    let rest = without_modifiers(body);
    let word = rest.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '!' | '$'))).next().unwrap_or_default();
    let by_word = match word {
        "fn" | "def" | "func" | "function" | "fun" | "sub" | "proc" | "macro_rules!" | "procedure" | "constructor" => {
            Some(Declaration::Function)
        }
        "class" | "struct" | "enum" | "trait" | "impl" | "interface" | "module" | "namespace" | "record" | "union"
        | "protocol" | "extension" | "object" | "CREATE" | "create" => Some(Declaration::Type),
        "type" => Some(if rest.ends_with('{') { Declaration::Type } else { Declaration::Constant }),
        "mod" => Some(if rest.ends_with(';') { Declaration::Import } else { Declaration::Type }),
        "import" | "use" | "using" | "package" | "require" | "require_relative" | "extern" => Some(Declaration::Import),
        "from" if rest.contains(" import ") => Some(Declaration::Import),
        "ALTER" | "DROP" => Some(Declaration::Constant),
        _ => None,
    };
    // A keyword is followed by a name. A longer word that begins like a keyword is not one.
    let is_word = rest.len() > word.len() && matches!(rest.as_bytes()[word.len()], b' ' | b'<' | b'(' | b'\t');
    if let Some(kind) = by_word.filter(|_| is_word && !rest.ends_with('.')) {
        return Some(kind);
    }
    if is_call_of_require(rest) {
        return Some(Declaration::Import);
    }
    if is_function(rest, is_outer) {
        return Some(Declaration::Function);
    }
    let is_named =
        matches!(word, "const" | "static" | "let" | "var" | "val" | "final" | "attr_accessor" | "attr_reader");
    (is_outer && (is_named && is_word || is_assignment(rest)) || is_named && word != "let" && word != "var" && is_word)
        .then_some(Declaration::Constant)
        .filter(|_| is_outer || rest.starts_with(|c: char| c.is_ascii_lowercase()))
}

/// Returns the line without the modifiers that may precede a declaration.
fn without_modifiers(line: &str) -> &str {
    const MODIFIERS: [&str; 28] = [
        "pub",
        "export",
        "default",
        "async",
        "public",
        "private",
        "protected",
        "internal",
        "abstract",
        "override",
        "unsafe",
        "virtual",
        "inline",
        "rendered",
        "partial",
        "readonly",
        "declare",
        "synchronized",
        "open",
        "data",
        "suspend",
        "local",
        "static",
        "final",
        "const",
        "extern",
        "typedef",
        "mutating",
    ];
    let mut rest = line;
    loop {
        let word = rest.split([' ', '(']).next().unwrap_or_default();
        if !MODIFIERS.contains(&word) {
            return rest;
        }
        let mut behind = &rest[word.len()..];
        // `pub(crate)`, `extern "C"`
        if let Some(scope) = behind.strip_prefix('(') {
            behind = scope.split_once(')').map_or("", |(_, behind)| behind);
        }
        let behind = behind.trim_start();
        let behind = behind.strip_prefix("\"C\"").map_or(behind, str::trim_start);
        let next = behind.split([' ', '(', '<', ':', '=']).next().unwrap_or_default();
        // `const X: u8 = 1` and `static X` declare a constant, so these words are not modifiers there.
        let is_constant = matches!(word, "const" | "static" | "final") && !is_keyword(next) && !behind.contains('(');
        if next.is_empty() || is_constant {
            return rest;
        }
        rest = behind;
    }
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "fn" | "class" | "struct" | "enum" | "unsafe" | "async" | "extern" | "function" | "final" | "interface"
    )
}

/// True for `const fs = require("fs")`.
fn is_call_of_require(line: &str) -> bool {
    line.contains(" = require(") || line.starts_with("require(")
}

/// True for `NAME = value` at the beginning of a line.
fn is_assignment(line: &str) -> bool {
    line.split_once(" = ").is_some_and(|(name, _)| {
        let name = name.split(':').next().unwrap_or(name);
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '.'))
    })
}

/// True for `int main(int argc, char **argv) {`, `render() {`, and `public void run(` that continues on the next line.
fn is_function(line: &str, is_outer: bool) -> bool {
    const OTHERS: [&str; 24] = [
        "if", "for", "while", "switch", "return", "else", "catch", "do", "try", "case", "throw", "new", "await",
        "assert", "print", "elif", "with", "match", "when", "unless", "until", "yield", "foreach", "select",
    ];
    let Some((head, _)) = line.split_once('(') else { return false };
    let first = head.split(' ').next().unwrap_or_default();
    let is_open = line.ends_with('{') || is_outer && head.contains(' ') && line.ends_with([')', ',', '(']);
    is_open
        && !head.is_empty()
        && !OTHERS.contains(&first)
        && !head.ends_with([' ', '.', '='])
        && head.bytes().all(|b| {
            b.is_ascii_alphanumeric()
                || matches!(
                    b,
                    b'_' | b' ' | b'*' | b'&' | b':' | b'<' | b'>' | b',' | b'~' | b'[' | b']' | b'$' | b'#' | b'?'
                )
        })
}
