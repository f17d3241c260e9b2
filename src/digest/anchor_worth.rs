//! The probability that the model repeats an anchor of a tool's output before it sees that anchor again. Measured by
//! `benches/retention.py`.

use super::age::Ages;
use crate::anchors::AnchorKind;

/// Worth of a name without its line, relative to its line. The name can be looked up, but does not say what the line
/// said.
const ALONE: f64 = 0.38;

/// Everything known about one anchor.
#[allow(clippy::struct_excessive_bools)] // Each is noted on its own.
#[derive(Debug, Clone)]
pub(super) struct AnchorFacts {
    /// Kind of the anchor, judged by its spelling.
    pub kind: AnchorKind,
    /// Number of output lines that contain it.
    lines: u32,
    /// The last of those lines.
    last_line: u32,
    /// The last message with an output that contains it.
    last_output: usize,
    /// True if an output that belongs to no file contains it.
    in_other: bool,
    /// The best rank of the files that contain it; see [`super::files::Files::rank`].
    rank: Option<usize>,
    /// Number of messages in which the model or the user mentions it.
    uses: u32,
    /// The last of those messages.
    last_use: Option<usize>,
    /// Weight of the model's recent mentions of it.
    pub mentions: f64,
    /// True if a kept line of an output contains it.
    pub stays: bool,
    /// True if a kept message mentions it.
    pub is_spoken_of: bool,
    /// True if a kept request names it.
    pub is_asked: bool,
    /// True if it is a common word of the dialogue instead of an anchor.
    is_word: bool,
}

impl AnchorFacts {
    /// Returns the facts of a new anchor.
    pub(super) fn of(kind: AnchorKind) -> AnchorFacts {
        AnchorFacts {
            kind,
            lines: 0,
            last_line: 0,
            last_output: 0,
            in_other: false,
            rank: None,
            uses: 0,
            last_use: None,
            mentions: 0.0,
            stays: false,
            is_spoken_of: false,
            is_asked: false,
            is_word: false,
        }
    }

    /// Returns the facts of a word in the dialogue. Without its line it says nothing.
    pub(super) fn of_word() -> AnchorFacts {
        AnchorFacts { is_word: true, ..AnchorFacts::of(AnchorKind::Number) }
    }

    /// Counts a line of the dialogue that contains it.
    pub(super) fn add_to_talk(&mut self) {
        self.lines += 1;
    }

    /// Counts this line of an output, from a file of this rank or from no file.
    pub(super) fn add_to_output(&mut self, message: usize, line: u32, rank: Option<usize>) {
        if self.lines == 0 || self.last_line != line {
            self.lines += 1;
            self.last_line = line;
        }
        self.last_output = message;
        match rank {
            Some(rank) => self.rank = Some(self.rank.map_or(rank, |best| best.min(rank))),
            None => self.in_other = true,
        }
    }

    /// Counts an older digest that kept its name without a line.
    pub(super) fn add_alone(&mut self, message: usize) {
        self.lines = self.lines.max(1);
        self.last_output = self.last_output.max(message);
    }

    /// Counts a message that mentions it.
    pub(super) fn add_use(&mut self, message: usize) {
        if self.last_use != Some(message) {
            self.uses += 1;
            self.last_use = Some(message);
        }
    }
}

/// Coefficients of a logistic regression over 102,640 anchors at 102 cuts of 26 recorded coding sessions. The area
/// under the curve was 0.82 on sessions that it was not fitted to. Afterwards a search adjusted them to what whole
/// digests keep, as `benches/retention.py` measures it.
mod coefficients {
    pub const BASE: f64 = 1.206;
    /// For the logarithm of the number of lines that contain it.
    pub const LINES: f64 = 0.93;
    /// For the logarithm of the number of messages that use it.
    pub const USES: f64 = 0.131;
    /// For the logarithm of the weight of the model's recent mentions.
    pub const MENTIONS: f64 = 1.38;
    /// For the place of its last use.
    pub const LAST_USE: f64 = 2.33;
    /// For the logarithm of the tokens since it was last seen.
    pub const AGE: f64 = -0.922;
    /// For the place where it was last seen, to the fourth power. The newest text has not yet shown whether it is
    /// needed.
    pub const NEWEST: f64 = -2.82;
    /// For the inverse of the rank of its file.
    pub const FILE: f64 = 1.42;
    /// For an output that belongs to no file.
    pub const OTHER: f64 = -0.34;
}

/// Worth that a line adds to an anchor whose name stays in the dialogue: the name stays, but its line would be lost.
const NAME_STAYS: f64 = 0.39;

/// Minimum worth that a line adds to an anchor that a request names and at most [`FEW`] lines contain, because the line
/// may be the answer. On coding sessions `benches/retention.py` shows no difference with or without it.
const IN_REQUEST: f64 = 1.0;
/// An anchor in more lines is the subject of the work, and no single line of it is the answer.
const FEW: u32 = 3;

/// Worth of a word that occurs once, in a conversation without tools. The more often a word occurs, the less it is
/// worth. Names in tool outputs are worth more than dialogue, so this falls with the third power of the dialogue's
/// share of the conversation.
const OF_WORDS: f64 = 0.3;

/// Returns the probability, from 0 to 1, that the anchor is needed and missing. It is 0 for an anchor that no output
/// contains, or that stays in one.
pub(super) fn worth(facts: &AnchorFacts, ages: &Ages, talk: f64) -> f64 {
    if facts.lines == 0 || facts.stays {
        return 0.0;
    }
    if facts.is_word {
        return OF_WORDS * talk * talk * talk / f64::from(facts.lines);
    }
    let place = ages.place(facts.last_output);
    let sum = coefficients::BASE
        + coefficients::LINES * libm::log1p(f64::from(facts.lines))
        + coefficients::USES * libm::log1p(f64::from(facts.uses))
        + coefficients::MENTIONS * libm::log1p(facts.mentions)
        + coefficients::LAST_USE * facts.last_use.map_or(0.0, |message| ages.place(message))
        + coefficients::AGE * ages.log(facts.last_output)
        + coefficients::NEWEST * place * place * place * place
        + coefficients::FILE * facts.rank.map_or(0.0, |rank| 1.0 / (1.0 + rank as f64))
        + if facts.in_other { coefficients::OTHER } else { 0.0 };
    let needed = 1.0 / (1.0 + libm::exp(-sum));
    if facts.is_asked && facts.lines <= FEW {
        needed.max(IN_REQUEST)
    } else if facts.is_spoken_of {
        needed * NAME_STAYS
    } else {
        needed
    }
}

/// Returns the worth of an anchor without its line, given its worth `in_line`. A number alone says nothing. An anchor
/// that is mentioned elsewhere already has its name there.
pub(super) fn alone(facts: &AnchorFacts, in_line: f64) -> f64 {
    if facts.kind == AnchorKind::Number || facts.is_spoken_of { 0.0 } else { in_line * ALONE }
}
