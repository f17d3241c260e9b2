//! Selects the lines of removed messages that are worth keeping.
//!
//! An agent uses earlier text in two ways: it repeats a name, a path or a number ([`crate::anchors`]), or it edits
//! lines of a file that it has read. So the worth of a line has two parts. The first is the chance that its anchors are
//! needed and are not kept elsewhere. The second is the chance that its part of the file is edited next. Lines are
//! chosen greedily by worth per token until the budget is spent. They are kept unchanged, in runs, with the number of
//! each run's first line. If a line costs too much for its worth, its name may be kept alone ([`names`]).

// Tokens and bytes stay far below 2^52, below which integers are exact. The lines of a text in memory are fewer than
// 2^32.
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]

mod age;
mod anchor_worth;
mod cover;
mod edit_worth;
mod files;
mod layout;
mod lines;
mod mark;
mod names;
mod numbers;
mod pick;
mod sections;
mod sources;

use std::ops::Range;

use crate::invariants::Pairs;
use crate::ledger::Measured;
use crate::message::{Conversation, Text};
use crate::tokens::{CountTokens, TextKind};

use age::Ages;
use files::Files;
use lines::Lines;
use mark::Mark;
pub use mark::{
    ACCOUNT, BULLET, INDENT, REQUESTS, TIMES, WORDS, continued, looks_like_heading, section_text, split_account,
};
use pick::Pick;
use sources::Source;

/// A conversation from which messages are removed.
#[derive(Debug)]
pub struct Past<'a, T> {
    /// The conversation.
    pub conversation: &'a Conversation<T>,
    /// The tokens of its messages.
    pub tokens: &'a Measured,
    /// Its calls and results.
    pub pairs: &'a Pairs,
    /// The removed messages, as ranges in order.
    pub gaps: &'a [Range<usize>],
    /// The shortened items of tool results, in order: message, part and item.
    pub cuts: &'a [(usize, usize, usize)],
    /// Texts that older digests kept, each with the gap that replaces its note.
    pub older: Vec<(usize, &'a str)>,
    /// Texts beside the conversation. Their lines need not be kept again.
    pub beside: Vec<&'a str>,
    /// The account of the removed messages. Its lines need not be kept again.
    pub account: &'a str,
}

/// The kept lines of removed messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// A text for each gap; empty if nothing is kept.
    pub gaps: Vec<String>,
    /// A text for each cut; empty if nothing is kept.
    pub cuts: Vec<String>,
    /// Names in the text of a gap without their lines, because they are not kept elsewhere.
    pub names: Vec<String>,
}

/// Number of tries to come closer to the budget. Each try counts the chosen lines; the first guess is rarely off by
/// more than a tenth.
const TRIES: usize = 4;

/// Usual ratio between the tokens of the chosen lines and their estimate. A good first guess saves a try.
const ESTIMATE: f64 = 1.06;

/// A try that uses this percentage of the budget is good enough.
const WELL_USED: usize = 99;

/// Share of the budget that a further try aims for, so that a small error does not exceed the budget.
const AIMED: f64 = 0.996;

/// Returns the lines of the gaps and cuts of `past` that are worth most, in `budget` tokens. O(length of the
/// conversation), and an exact count of the kept lines.
pub fn digest<T: Text>(past: &Past<'_, T>, budget: usize, counter: &dyn CountTokens) -> Digest {
    if budget == 0 {
        let [gaps, cuts] = [past.gaps.len(), past.cuts.len()].map(|slots| vec![String::new(); slots]);
        return Digest { gaps, cuts, names: Vec::new() };
    }
    let sources = sources::of(past);
    let ages = Ages::of(past.tokens, past.conversation.messages.len());
    let files = Files::of(&sources);
    let mark = Mark::of(past.gaps.iter().map(|gap| past.tokens.text_digest(gap.clone())));
    let lines = Lines::of(&sources, past, &ages, &files, &mark);
    let worths = edit_worth::of(&sources, &lines, &ages, &files);
    // Estimates decide which lines are chosen, and exact counts decide how many.
    let headings = layout::headings(&sources);
    let picks =
        cover::cover(&sources, &lines, &headings, &worths, (past.gaps.len(), past.account), budget + budget / 4);
    let (mut gaps, names) = fit(&sources, &lines, (&headings, &mark), &picks, past, budget, counter);
    let cuts = gaps.split_off(past.gaps.len());
    Digest { gaps, cuts, names: names.into_iter().map(str::to_owned).collect() }
}

/// Returns the texts of as many `picks` as fit, first ones first, and the names among them.
fn fit<'a, T: Text>(
    sources: &'a [Source<'_>],
    lines: &Lines<'a>,
    (headings, mark): (&[u32], &Mark),
    picks: &[Pick],
    past: &Past<'_, T>,
    budget: usize,
    counter: &dyn CountTokens,
) -> (Vec<String>, Vec<&'a str>) {
    let slots = past.gaps.len() + past.cuts.len();
    // A note may not be longer than the messages that it replaces.
    let freed = |gap: &usize| past.gaps[*gap].clone().map(|message| past.tokens.message(message)).sum::<usize>();
    let largest = (0..past.gaps.len()).max_by_key(freed);
    let render = |count: usize| {
        let mut texts = layout::texts(
            sources,
            lines,
            headings,
            &picks[..count],
            (slots, past.gaps.len()),
            mark,
            (largest, past.account),
        );
        let names = largest.map_or_else(Vec::new, |gap| {
            let names = names::beside(sources, lines, &picks[..count]);
            layout::add_names(&mut texts[gap], &names, mark);
            names
        });
        let (gaps, cuts) = texts.split_at(past.gaps.len());
        let count = |texts: &[String], kind| texts.iter().map(|text| counter.count(text, kind)).sum::<usize>();
        let tokens = count(gaps, TextKind::Prose) + count(cuts, TextKind::ToolOutput);
        ((texts, names), tokens)
    };
    let mut best = (vec![String::new(); slots], Vec::new());
    // A number of picks that fits, and a number that is too large.
    let (mut fits, mut too_many) = (0, picks.len() + 1);
    let mut aim = budget as f64 * ESTIMATE;
    for _ in 0..TRIES {
        let count = picks.partition_point(|pick| pick.cost_so_far <= aim).clamp(fits, too_many - 1);
        if count == fits {
            break;
        }
        let (texts, tokens) = render(count);
        if tokens <= budget {
            (best, fits) = (texts, count);
            if tokens * 100 >= budget * WELL_USED {
                break;
            }
        } else {
            too_many = count;
        }
        // Assumes that the estimate of the other picks is off by the same ratio.
        aim = picks[count - 1].cost_so_far * budget as f64 * AIMED / tokens.max(1) as f64;
    }
    best
}
