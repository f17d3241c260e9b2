//! The mark of a digest, which distinguishes its headings from quoted lines that look like headings.
//!
//! A digest is in a message of the user and quotes tool output. So its headings begin with a number that its first line
//! names. The number is derived from the messages that the digest replaces, so no tool knows it in advance. A line that
//! could pass for a heading with this number is never kept.

use memchr::memmem;

/// The titles of the dialogue.
pub(super) const USER: &str = "the user";
pub(super) const ASSISTANT: &str = "the assistant";

/// The first line of an account, which may precede a digest.
pub const ACCOUNT: &str = "Summary of these messages, written without a model:";
/// The account's heading above the user's requests.
pub const REQUESTS: &str = "## Requests";
/// The account's heading above the assistant's words.
pub const WORDS: &str = "## The assistant's last words, newest first";

/// The title of names without their lines.
pub(super) const NAMES: &str = "other lines, names only";

/// The title of lines whose source has no name, if they follow other lines.
const UNNAMED: &str = "an unnamed source";

/// The first line of a digest, before and after the mark.
const INTRODUCTION: (&str, &str) = ("Lines from these messages. Only [", " begins a heading:");

/// The word before the title of a source that is not a speaker.
const FROM: &str = "from ";

/// The smallest mark, and the number of marks. Three digits are one token in most vocabularies.
const MARKS: (u128, u128) = (100, 900);

/// The mark; see the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark(String);

impl Mark {
    /// Returns the mark for messages with these digests.
    pub(super) fn of(messages: impl Iterator<Item = u128>) -> Mark {
        let digest = messages.fold(0_u128, |all, digest| all.rotate_left(1) ^ digest);
        // Uses the high bits too.
        Mark((MARKS.0 + (digest ^ (digest >> 64)) % MARKS.1).to_string())
    }

    /// Returns the first line of a digest.
    pub(super) fn introduction(&self) -> String {
        [INTRODUCTION.0, &self.0, INTRODUCTION.1, "\n"].concat()
    }

    /// Returns the mark of a digest, and the text after its first line; `None` if the text is not a digest.
    pub(super) fn read(digest: &str) -> Option<(Mark, &str)> {
        let (first, rest) = digest.split_once('\n').unwrap_or((digest, ""));
        let number = first.strip_prefix(INTRODUCTION.0)?.trim_end().strip_suffix(INTRODUCTION.1)?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| (Mark(number.to_owned()), rest))
    }

    /// Returns the line that names the source of the next lines.
    pub(super) fn heading(&self, title: &str) -> String {
        let (from, title) = match title {
            USER | ASSISTANT | NAMES => ("", title),
            "" => (FROM, UNNAMED),
            title => (FROM, title),
        };
        ["[", &self.0, " ", from, title, "]\n"].concat()
    }

    /// Returns the title in a heading; `None` for any other line.
    pub(super) fn title<'l>(&self, line: &'l str) -> Option<&'l str> {
        let title = line.strip_prefix('[')?.strip_prefix(&*self.0)?.strip_prefix(' ')?.trim_end().strip_suffix(']')?;
        let from = || title.strip_prefix(FROM).map(|title| if title == UNNAMED { "" } else { title });
        if [USER, ASSISTANT, NAMES].contains(&title) { Some(title) } else { from() }
    }

    /// True if a reader could take a line of the text for a heading with this mark, or for the first line of a digest.
    pub(super) fn is_in(&self, line: &str) -> bool {
        let is_digit = |text: &str| text.chars().next().is_some_and(|c| c.is_ascii_digit());
        let is_mark = |at: usize| {
            let (before, after) = (&line[..at], &line[at + self.0.len()..]);
            !before.chars().next_back().is_some_and(|c| c.is_ascii_digit()) && !is_digit(after) && names_source(after)
        };
        memmem::find_iter(line.as_bytes(), self.0.as_bytes()).any(is_mark)
            || memmem::find(line.as_bytes(), INTRODUCTION.1.as_bytes()).is_some()
    }
}

/// Returns a digest without its first line, if it follows another digest with the same mark.
pub fn continued<'a>(digest: &'a str, before: &str) -> &'a str {
    match (Mark::read(digest), Mark::read(before)) {
        (Some((mark, lines)), Some((same, _))) if mark == same => lines,
        _ => digest,
    }
}

/// Splits a body into the account at its beginning and the digest after it; either may be empty. In an account only
/// headings are not indented, so no line of it passes for the first line of a digest.
pub fn split_account(body: &str) -> (&str, &str) {
    if !body.starts_with(ACCOUNT) {
        return ("", body);
    }
    let first = body.match_indices(INTRODUCTION.0).map(|(at, _)| at).find(|at| body[..*at].ends_with('\n'));
    first.map_or((body, ""), |at| (body[..at].trim_end(), &body[at..]))
}

/// Returns the paths of changed files that an account names.
pub(super) fn paths_in(account: &str) -> impl Iterator<Item = &str> {
    let entries = account.lines().filter_map(|line| line.strip_prefix(BULLET)?.rsplit_once(TIMES.0));
    entries.filter(|(path, rest)| rest.contains(TIMES.1) && !path.contains(char::is_whitespace)).map(|(path, _)| path)
}

/// The text before and after a number of repetitions in an account.
pub const TIMES: (&str, &str) = (" (", "x)");

/// Returns the lines of an account below `heading` as one text, without their indentation.
pub fn section_text(account: &str, heading: &str) -> String {
    let lines = account.lines().skip_while(|line| *line != heading).skip(1);
    let lines = lines.take_while(|line| line.starts_with(BULLET) || line.starts_with(INDENT));
    lines.map(|line| &line[BULLET.len()..]).collect::<Vec<_>>().join("\n")
}

/// The beginning of the first line of an entry in an account.
pub const BULLET: &str = "- ";
/// The beginning of an entry's further lines.
pub const INDENT: &str = "  ";

/// True for a line that looks like a heading with any mark or none, or like the first line of a digest.
pub fn looks_like_heading(line: &str) -> bool {
    let line = line.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '[');
    let is_heading = |rest: &str| names_source(rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    line.strip_prefix('[').is_some_and(is_heading) || line.starts_with(INTRODUCTION.0)
}

/// True if `text` begins like a heading after its mark.
fn names_source(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    [FROM.trim_end(), USER, ASSISTANT, NAMES].iter().any(|words| {
        let head = text.get(..words.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(words))
    })
}

/// Returns a source's title as it may appear in a heading: on one line, and different from a speaker's.
pub(super) fn title_of_source(name: &str) -> String {
    let line = name.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let title = line.collect::<Vec<_>>().join(" ");
    let is_taken = [USER, ASSISTANT, NAMES, UNNAMED].iter().any(|taken| title.eq_ignore_ascii_case(taken));
    if is_taken { format!("'{title}'") } else { title }
}
