//! A sample of the lines of a text.

/// Number of lines that are sampled at the beginning, in the middle and at the end.
const LINES: usize = 40;

/// Number of bytes of a line that are sampled.
const WIDTH: usize = 300;

/// Lines of a text: from its beginning, its middle and its end.
#[derive(Debug, Clone)]
pub struct Sample<'a> {
    /// The lines without line ends. Empty lines are left out.
    pub lines: Vec<&'a str>,
    /// The first bytes of the text.
    pub start: &'a str,
    /// The last bytes of the text.
    pub end: &'a str,
    /// The name of the tool in lower case; empty if unknown.
    pub tool: String,
}

impl<'a> Sample<'a> {
    /// Samples the output of `tool`. O(1).
    pub fn of(text: &'a str, tool: &str) -> Sample<'a> {
        let window = |from: usize, to: usize| &text[text.floor_char_boundary(from)..text.floor_char_boundary(to)];
        let size = LINES * WIDTH;
        let start = window(0, size);
        let end = window(text.len().saturating_sub(size), text.len());
        let mut lines: Vec<&str> = clipped(start).take(LINES).collect();
        if text.len() > 3 * size {
            let middle = window(text.len() / 2, text.len() / 2 + size);
            lines.extend(clipped(middle).skip(1).take(LINES));
        }
        if text.len() > size {
            let tail: Vec<&str> = clipped(end).skip(1).collect();
            lines.extend(&tail[tail.len().saturating_sub(LINES)..]);
        }
        Sample { lines, start, end, tool: tool.to_ascii_lowercase() }
    }

    /// Returns the percentage of sampled lines that match.
    pub fn share(&self, is_so: impl Fn(&str) -> bool) -> usize {
        let hits = self.lines.iter().filter(|line| is_so(line)).count();
        hits * 100 / self.lines.len().max(1)
    }

    /// True if any sampled line matches.
    pub fn any(&self, is_so: impl Fn(&str) -> bool) -> bool {
        self.lines.iter().any(|line| is_so(line))
    }
}

fn clipped(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty()).map(|line| &line[..line.floor_char_boundary(WIDTH)])
}
