//! The mark of a digest: what tells its headings from quoted lines that look like one.
//!
//! A digest stands in a message of the user and quotes what tools printed. So its headings begin with a number, which its
//! first line names. The number is made from the messages that the digest stands for, so that no tool knows it before, and
//! no line is kept that could pass for a heading with it.

use memchr::memmem;

/// The titles of what was said.
pub(super) const USER: &str = "the user";
pub(super) const ASSISTANT: &str = "the assistant";

/// The first line of an account, which may stand before a digest.
pub const ACCOUNT: &str = "What happened in them, told without a model:";
/// Its heading above what the user asked for.
pub const REQUESTS: &str = "## Requests";
/// Its heading above what the assistant said.
pub const WORDS: &str = "## The assistant's last words, newest first";

/// The title of names that are kept without their lines.
pub(super) const NAMES: &str = "other lines, names only";

/// The title of lines whose source has no name, where they follow others.
const UNNAMED: &str = "an unnamed source";

/// The first line of a digest, around the mark.
const INTRODUCTION: (&str, &str) = ("Quotes from them; only [", " begins a heading:");

/// The word in front of the title of a source that is not a speaker.
const FROM: &str = "from ";

/// The smallest mark and how many there are: three digits are one token in most vocabularies.
const MARKS: (u128, u128) = (100, 900);

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark(String);

impl Mark {
    /// The mark of a digest of the messages with these digests.
    pub(super) fn of(messages: impl Iterator<Item = u128>) -> Mark {
        let digest = messages.fold(0_u128, |all, digest| all.rotate_left(1) ^ digest);
        // The high bits take part too.
        Mark((MARKS.0 + (digest ^ (digest >> 64)) % MARKS.1).to_string())
    }

    /// The first line of a digest.
    pub(super) fn introduction(&self) -> String {
        [INTRODUCTION.0, &self.0, INTRODUCTION.1, "\n"].concat()
    }

    /// The mark of a digest, and what follows its first line; `None` where a text is no digest.
    pub(super) fn read(digest: &str) -> Option<(Mark, &str)> {
        let (first, rest) = digest.split_once('\n').unwrap_or((digest, ""));
        let number = first.strip_prefix(INTRODUCTION.0)?.trim_end().strip_suffix(INTRODUCTION.1)?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| (Mark(number.to_owned()), rest))
    }

    /// The line that names the source of the lines after it.
    pub(super) fn heading(&self, title: &str) -> String {
        let (from, title) = match title {
            USER | ASSISTANT | NAMES => ("", title),
            "" => (FROM, UNNAMED),
            title => (FROM, title),
        };
        ["[", &self.0, " ", from, title, "]\n"].concat()
    }

    /// The title in a heading; `None` for any other line.
    pub(super) fn title<'l>(&self, line: &'l str) -> Option<&'l str> {
        let title = line.strip_prefix('[')?.strip_prefix(&*self.0)?.strip_prefix(' ')?.trim_end().strip_suffix(']')?;
        let from = || title.strip_prefix(FROM).map(|title| if title == UNNAMED { "" } else { title });
        if [USER, ASSISTANT, NAMES].contains(&title) { Some(title) } else { from() }
    }

    /// True for a line that a reader could take for a heading with this mark, or for the first line of a digest; and for
    /// a text with such a line.
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

/// The lines of a digest that another one with the same mark stands before: without its first line.
pub fn continued<'a>(digest: &'a str, before: &str) -> &'a str {
    match (Mark::read(digest), Mark::read(before)) {
        (Some((mark, lines)), Some((same, _))) if mark == same => lines,
        _ => digest,
    }
}

/// The account that a body begins with, and the digest after it; each empty where there is none. In an account no line but a
/// heading stands at the left edge, so none passes for the first line of a digest.
pub fn split_account(body: &str) -> (&str, &str) {
    if !body.starts_with(ACCOUNT) {
        return ("", body);
    }
    let first = body.match_indices(INTRODUCTION.0).map(|(at, _)| at).find(|at| body[..*at].ends_with('\n'));
    first.map_or((body, ""), |at| (body[..at].trim_end(), &body[at..]))
}

/// The paths of changed files that an account names.
pub(super) fn paths_in(account: &str) -> impl Iterator<Item = &str> {
    let entries = account.lines().filter_map(|line| line.strip_prefix(BULLET)?.rsplit_once(TIMES.0));
    entries.filter(|(path, rest)| rest.contains(TIMES.1) && !path.contains(char::is_whitespace)).map(|(path, _)| path)
}

/// The text around the number of repetitions, in an account.
pub const TIMES: (&str, &str) = (" (", "x)");

/// The lines in the sections of an account, without their indentation: those under a heading in one text.
pub fn section_text(account: &str, heading: &str) -> String {
    let lines = account.lines().skip_while(|line| *line != heading).skip(1);
    let lines = lines.take_while(|line| line.starts_with(BULLET) || line.starts_with(INDENT));
    lines.map(|line| &line[BULLET.len()..]).collect::<Vec<_>>().join("\n")
}

/// The beginning of the first line of an entry in an account.
pub const BULLET: &str = "- ";
/// The beginning of its further lines.
pub const INDENT: &str = "  ";

/// True for a line that looks like a heading with any mark, or with none, or like the first line of a digest.
pub fn looks_like_heading(line: &str) -> bool {
    let line = line.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '[');
    let is_heading = |rest: &str| names_source(rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    line.strip_prefix('[').is_some_and(is_heading) || line.starts_with(INTRODUCTION.0)
}

/// True if `text` begins with the words that follow the mark of a heading.
fn names_source(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    [FROM.trim_end(), USER, ASSISTANT, NAMES].iter().any(|words| {
        let head = text.get(..words.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(words))
    })
}

/// A title of a source as it may stand in a heading: in one line, and not that of a speaker.
pub(super) fn title_of_source(name: &str) -> String {
    let line = name.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let title = line.collect::<Vec<_>>().join(" ");
    let is_taken = [USER, ASSISTANT, NAMES, UNNAMED].iter().any(|taken| title.eq_ignore_ascii_case(taken));
    if is_taken { format!("'{title}'") } else { title }
}
