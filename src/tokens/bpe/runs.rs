//! Merges runs of one character, such as rules and indents, run by run: a run of any length takes a few dozen steps.

use super::merge::begin;
use super::vocabulary::{NO_TOKEN, Vocabulary};

/// Bytes that are looked at before runs are believed in.
const SAMPLE: usize = 64;
/// Bytes in a run, at least and on average: with less, the runs are given up.
const WORTH_A_RUN: usize = 8;
/// Runs that are borne with before the average counts.
const FIRST_RUNS: usize = 4;

/// The same token several times.
#[derive(Clone, Copy)]
struct Run {
    token: u32,
    times: usize,
}

/// True if `piece` looks like runs of one character.
pub(super) fn seem_likely(piece: &[u8]) -> bool {
    // The first byte of a character says how many more there are.
    let period = (piece[0].leading_ones() as usize).max(1);
    let sample = &piece[..piece.len().min(SAMPLE)];
    let repeated = sample.iter().zip(&sample[period..]).filter(|(one, other)| one == other).count();
    repeated * 4 >= sample.len() * 3
}

/// Number of tokens in `piece`; `None` if it is not made of runs.
pub(super) fn count(vocabulary: &Vocabulary, piece: &[u8]) -> Option<usize> {
    let mut runs = Vec::new();
    let most = FIRST_RUNS + piece.len() / WORTH_A_RUN;
    begin(vocabulary, piece, |token| {
        if runs.len() < most {
            push(&mut runs, token, 1);
        }
    });
    if runs.len() == most {
        return None;
    }
    let mut after = Vec::new();
    while let Some(lowest) = lowest(vocabulary, &runs) {
        pass(vocabulary, &mut runs, &mut after, lowest);
        std::mem::swap(&mut runs, &mut after);
    }
    Some(runs.iter().map(|run| run.times).sum())
}

/// The lowest rank that two neighbours merge to.
fn lowest(vocabulary: &Vocabulary, runs: &[Run]) -> Option<u32> {
    let inside = runs.iter().filter(|run| run.times > 1).map(|run| vocabulary.merged(run.token, run.token));
    let between = runs.windows(2).map(|two| vocabulary.merged(two[0].token, two[1].token));
    inside.chain(between).min().filter(|&lowest| lowest != NO_TOKEN)
}

/// Merges every pair of rank `lowest`, from left to right. Only one pair of tokens merges to it, so a token that pairs
/// with its like does not pair with a neighbour, and none is wanted from both sides.
fn pass(vocabulary: &Vocabulary, runs: &mut [Run], after: &mut Vec<Run>, lowest: u32) {
    after.clear();
    for index in 0..runs.len() {
        let Run { token, times } = runs[index];
        if times > 1 && vocabulary.merged(token, token) == lowest {
            push(after, lowest, times / 2);
            push(after, token, times % 2);
        } else if let Some(next) = runs.get_mut(index + 1)
            && times > 0
            && vocabulary.merged(token, next.token) == lowest
        {
            next.times -= 1;
            push(after, token, times - 1);
            push(after, lowest, 1);
        } else {
            push(after, token, times);
        }
    }
}

fn push(runs: &mut Vec<Run>, token: u32, times: usize) {
    match runs.last_mut() {
        Some(last) if last.token == token => last.times += times,
        _ if times == 0 => {}
        _ => runs.push(Run { token, times }),
    }
}
