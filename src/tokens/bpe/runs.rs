//! Merges runs of one character, such as rules and indents, run by run. A run of any length takes a few dozen steps.

use super::merge::begin;
use super::vocabulary::{NO_TOKEN, Vocabulary};

/// Number of bytes that are sampled to recognize runs.
const SAMPLE: usize = 64;
/// Minimum average length of a run in bytes. With less, this method stops.
const WORTH_A_RUN: usize = 8;
/// Number of runs before the average is checked.
const FIRST_RUNS: usize = 4;

/// The same token repeated.
#[derive(Clone, Copy)]
struct Run {
    token: u32,
    times: usize,
}

/// True if `piece` looks like runs of one character.
pub(super) fn seem_likely(piece: &[u8]) -> bool {
    // The first byte of a character gives the number of its bytes.
    let period = (piece[0].leading_ones() as usize).max(1);
    let sample = &piece[..piece.len().min(SAMPLE)];
    let repeated = sample.iter().zip(&sample[period..]).filter(|(one, other)| one == other).count();
    repeated * 4 >= sample.len() * 3
}

/// Returns the number of tokens in `piece`; `None` if it does not consist of runs.
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

/// Returns the lowest rank that two adjacent tokens merge to.
fn lowest(vocabulary: &Vocabulary, runs: &[Run]) -> Option<u32> {
    let inside = runs.iter().filter(|run| run.times > 1).map(|run| vocabulary.merged(run.token, run.token));
    let between = runs.windows(2).map(|two| vocabulary.merged(two[0].token, two[1].token));
    inside.chain(between).min().filter(|&lowest| lowest != NO_TOKEN)
}

/// Merges every pair of rank `lowest`, from left to right. Only one pair of tokens merges to a rank. So a token that
/// pairs with an equal one does not pair with another neighbour, and no token can be merged on both sides.
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
