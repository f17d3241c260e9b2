//! Upper bounds for the texts that a plan adds.

use crate::store::{
    MarkStyle, NOTE_ANSWER, Places, Reference, Went, Whereabouts, argument_marked, removal_note, superseded_marked,
    text_marked,
};
use crate::tokens::{CountTokens, TextKind};

/// Upper bounds for the tokens of the texts that a plan adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The mark before a shortened text.
    pub mark: usize,
    /// The line in place of a superseded output.
    pub superseded: usize,
    /// The line in place of a text in the arguments of a call.
    pub argument: usize,
    /// The mark before a shortened text of a message, with the overhead of its block.
    pub text: usize,
    /// The overhead of a call.
    pub call: usize,
    /// The note in a gap, with its answer and their overheads.
    pub note: usize,
    /// The tokens of the summary in a note, if there is one.
    pub summary: usize,
}

impl Bounds {
    /// Returns the bounds under `counter`: the tokens of a long mark and a long note, and some more, because a hash can
    /// have as many tokens as digits. A mark with an even longer tool name can have more. The plan is then made again,
    /// tighter.
    pub fn of(counter: &dyn CountTokens, style: MarkStyle) -> Bounds {
        /// Tokens that the digits of a hash can take beyond those of the sample.
        const HASH: usize = 10;
        /// Tokens that the number of characters after a mark can take beyond one digit.
        const FOLLOWING: usize = 4;
        /// A tool name and a file name as long as most are.
        const TOOL: &str = "a_long_tool_name";
        const PATH: &str = "packages/some_package/src/components/some_component.tsx";
        /// A large number of characters in an output.
        const MANY: usize = 123_456_789;
        let (sample, overhead) = (Reference::of(TOOL, b"sample"), counter.overhead());
        let stored = Whereabouts::Stored(&sample);
        let mark = style.frame(TOOL, MANY, "", &stored, Some(&LongPath));
        let superseded =
            superseded_marked(TOOL, MANY, &stored, &format!("a later read of {PATH}"), (style, Some(&LongPath)));
        let argument = argument_marked(MANY, Went::OutOf, PATH, &stored);
        let note = removal_note(123_456, &Whereabouts::Stored(&sample), "");
        let prose = |text: &str| counter.count(text, TextKind::Prose) + overhead.block + overhead.message;
        Bounds {
            mark: counter.count(&mark, TextKind::ToolOutput) + HASH + FOLLOWING,
            superseded: counter.count(&superseded, TextKind::ToolOutput) + HASH,
            argument: counter.count(&argument, TextKind::Json) + HASH,
            text: counter.count(&text_marked(MANY, &stored, ""), TextKind::Prose) + HASH + FOLLOWING + overhead.block,
            call: overhead.call,
            note: prose(&note) + HASH + prose(NOTE_ANSWER),
            summary: 0,
        }
    }
}

/// A path as long as most are.
#[derive(Debug)]
struct LongPath;

impl Places for LongPath {
    fn place(&self, reference: &Reference) -> Option<String> {
        Some(format!("/home/somebody/projects/some_project/artifacts/session/{reference}_20261121_180953.log"))
    }
}
