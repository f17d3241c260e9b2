//! The probability that the model repeats an anchor of a tool's output before it sees that anchor again.

use super::age::Ages;
use crate::anchors::AnchorKind;

/// Worth of a name without its line. The name can be looked up, but it does not say what the line said.
const ALONE: f64 = 0.38;

/// Everything known about one anchor.
#[allow(clippy::struct_excessive_bools)] // Each is noted on its own.
#[derive(Debug, Clone)]
pub(super) struct AnchorFacts {
    /// Kind of the anchor, judged by its spelling.
    pub kind: AnchorKind,
    /// Lines of outputs that hold it.
    lines: u32,
    /// The last of them.
    last_line: u32,
    /// The last message with an output that holds it.
    last_output: usize,
    /// True if an output that belongs to no file contains it.
    in_other: bool,
    /// The best rank of the files that it stands in; see [`super::files::Files::rank`].
    rank: Option<usize>,
    /// Messages in which model or person spoke of it.
    uses: u32,
    /// The last of them.
    last_use: Option<usize>,
    /// Weight of the model's recent mentions of it.
    pub mentions: f64,
    /// True if a line of an output that contains it stays.
    pub stays: bool,
    /// True if a message that mentions it stays.
    pub is_spoken_of: bool,
    /// True if a request that stays names it.
    pub is_asked: bool,
    /// True if it is a common word of the talk and not an anchor.
    is_word: bool,
}

impl AnchorFacts {
    /// Of an anchor that nothing is known of yet.
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

    /// Of a word in what was said. Without its line it says nothing.
    pub(super) fn of_word() -> AnchorFacts {
        AnchorFacts { is_word: true, ..AnchorFacts::of(AnchorKind::Number) }
    }

    /// A line of what was said holds it.
    pub(super) fn add_to_talk(&mut self) {
        self.lines += 1;
    }

    /// It stands in this line of an output, of a file of this rank or of none.
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

    /// An older digest kept its name.
    pub(super) fn add_alone(&mut self, message: usize) {
        self.lines = self.lines.max(1);
        self.last_output = self.last_output.max(message);
    }

    /// Somebody speaks of it.
    pub(super) fn add_use(&mut self, message: usize) {
        if self.last_use != Some(message) {
            self.uses += 1;
            self.last_use = Some(message);
        }
    }
}

/// The coefficients of a logistic regression over 102,640 anchors at 102 cuts of 26 recorded coding sessions, where the area
/// under the curve was .82 on sessions that it was not fitted to; then moved by a search for what whole digests keep.
mod coefficients {
    pub const BASE: f64 = 1.206;
    /// For the logarithm of the lines that hold it.
    pub const LINES: f64 = 0.93;
    /// For the logarithm of the messages that use it.
    pub const USES: f64 = 0.131;
    /// For the logarithm of how much the model has lately spoken of it.
    pub const MENTIONS: f64 = 1.38;
    /// For the place of its last use.
    pub const LAST_USE: f64 = 2.33;
    /// For the logarithm of the tokens since it was last seen.
    pub const AGE: f64 = -0.922;
    /// For the place where it was last seen, to the fourth: what has just been seen has not yet shown whether it is needed.
    pub const NEWEST: f64 = -2.82;
    /// For the inverse of the rank of its file.
    pub const FILE: f64 = 1.42;
    /// For standing in an output that is of no file.
    pub const OTHER: f64 = -0.34;
}

/// Worth that a line adds to an anchor whose name stays in the talk: the name stays, but the text that it names would be lost.
const NAME_STAYS: f64 = 0.39;

/// Least worth that a line adds to an anchor that a request names and at most [`FEW`] lines hold: the line may be the answer.
/// `benches/retention.py` shows no difference on coding sessions between this and none.
const IN_REQUEST: f64 = 1.0;
/// An anchor in more lines than this is the subject of the work, and one line of it is no answer.
const FEW: u32 = 3;

/// Worth of a word that was said once, in a conversation without tools. The more often a word was said, the less it tells.
/// Names in the outputs of tools tell more than talk: the worth falls with the third power of the part of the conversation
/// that is talk.
const OF_WORDS: f64 = 0.3;

/// Probability, from 0 to 1, that the anchor is needed and missing. It is 0 for an anchor that no output contains or that
/// stays in one.
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

/// Worth of an anchor without its line, given its worth `in_line`. A number alone says nothing. An anchor that was mentioned
/// elsewhere already has its name there.
pub(super) fn alone(facts: &AnchorFacts, in_line: f64) -> f64 {
    if facts.kind == AnchorKind::Number || facts.is_spoken_of { 0.0 } else { in_line * ALONE }
}
