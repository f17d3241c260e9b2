//! Selects the lines of removed messages that are worth keeping.
//!
//! An agent goes back to what it has seen in two ways: it repeats a name, a path or a number ([`crate::anchors`]), or it
//! edits lines of a file that it has read. The worth of a line has these two parts. The first is the chance that its
//! anchors are needed and are not kept elsewhere. The second is the chance that its part of the file is edited next.
//! Lines are taken greedily by worth per token until the budget is spent. They are kept unchanged, in runs, with the
//! number of the first line of each. If a line costs too much for its worth, its name may be kept alone ([`names`]).

// Tokens and bytes stay far below 2^52, where every whole number is exact, and the lines of what fits into memory below 2^32.
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

/// A conversation of which some messages go.
#[derive(Debug)]
pub struct Past<'a, T> {
    /// The conversation.
    pub conversation: &'a Conversation<T>,
    /// Number of tokens that it takes.
    pub tokens: &'a Measured,
    /// Its calls and results.
    pub pairs: &'a Pairs,
    /// The messages that go, in ranges, in order.
    pub gaps: &'a [Range<usize>],
    /// The items of tool results that stay, but not whole, in order: message, part and item.
    pub cuts: &'a [(usize, usize, usize)],
    /// Texts that older digests kept, each with the gap that replaces its note.
    pub older: Vec<(usize, &'a str)>,
    /// Texts that stand beside the conversation: what is in them need not be kept.
    pub beside: Vec<&'a str>,
    /// The account of what goes: lines that stand in it need not be kept again.
    pub account: &'a str,
}

/// The lines that are kept of what goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// A text for each gap; empty where nothing of it is kept.
    pub gaps: Vec<String>,
    /// A text for each cut, likewise.
    pub cuts: Vec<String>,
    /// The names that stand in the text of a gap without their lines, because they stand nowhere else.
    pub names: Vec<String>,
}

/// Tries to come closer to a budget. Each counts what was chosen, and the first guess is seldom off by more than a tenth.
const TRIES: usize = 4;

/// Usual ratio between the estimates of picks and the tokens that they take: a good first guess saves a try.
const ESTIMATE: f64 = 1.06;

/// A try is good when this share of the budget is used, in hundredths.
const WELL_USED: usize = 99;

/// The share of the budget that a further try aims at, so that a small error does not make it too long.
const AIMED: f64 = 0.996;

/// The lines of the messages in the gaps of `past`, and of the cuts, that are worth most, in `budget` tokens. O(length of
/// the conversation), and exact counts of what is kept.
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
    // Estimates decide what is taken, counts how much.
    let headings = layout::headings(&sources);
    let picks =
        cover::cover(&sources, &lines, &headings, &worths, (past.gaps.len(), past.account), budget + budget / 4);
    let (mut gaps, names) = fit(&sources, &lines, (&headings, &mark), &picks, past, budget, counter);
    let cuts = gaps.split_off(past.gaps.len());
    Digest { gaps, cuts, names: names.into_iter().map(str::to_owned).collect() }
}

/// The texts of as many of `picks`, the first ones first, as fit, and the names among them.
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
    // A note may not be longer than what it stands for.
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
    // The count of picks that is known to fit, and the count that is known not to.
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
        // The rest of the picks is assumed to be misjudged by the same ratio.
        aim = picks[count - 1].cost_so_far * budget as f64 * AIMED / tokens.max(1) as f64;
    }
    best
}
