//! A view as data, from which another process sends the same bytes.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::pieces::{Piece, ShownMessage};
use super::{BUDGETS, COMPACTIONS, Compaction, KnownCompaction, Track, View, Wait};
use crate::economics::{Account, ProviderCache};
use crate::error::{Error, Result};
use crate::ledger::EntryDigest;

/// The version of the data. Other versions are refused.
const VERSION: u32 = 1;

/// A view as data. Messages that are not in the history are indices in a separate list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    version: u32,
    landmarks: Vec<String>,
    ceiling: Option<usize>,
    /// Number of refusals in a row.
    #[serde(default)]
    refusals: usize,
    budgets: Vec<BudgetState>,
    #[serde(default, skip_serializing_if = "is_default")]
    cache: ProviderCache,
    /// The requests with reported tokens; missing if there was none.
    #[serde(default, skip_serializing_if = "is_default")]
    account: Account,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BudgetState {
    budget: Option<usize>,
    compactions: Vec<CompactionState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waits: Option<WaitState>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitState {
    /// The number of history entries, and their digest.
    of: (usize, String),
    left: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CompactionState {
    /// The number of history entries that it was made for, and their digest.
    of: (usize, String),
    left: usize,
    asked: Option<usize>,
    #[serde(default, skip_serializing_if = "is_default")]
    removed: usize,
    #[serde(default, skip_serializing_if = "is_default")]
    account: Account,
    pieces: Vec<PieceState>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum PieceState {
    Same([usize; 2]),
    Block {
        #[serde(rename = "for")]
        stands_for: [usize; 2],
        shows: Vec<ShownState>,
        prefix: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ShownState {
    Entry(usize),
    Message(usize),
}

impl<M> View<M> {
    /// Returns the view as data. `place` returns the index, in a list of the caller, of a message that is not in the
    /// history.
    pub fn state(&self, mut place: impl FnMut(&M) -> usize) -> State {
        let mut shown = |shown: &ShownMessage<M>| match shown {
            ShownMessage::Entry(entry) => ShownState::Entry(*entry),
            ShownMessage::Made(message) => ShownState::Message(place(message)),
        };
        let mut piece = |piece: &Piece<M>| match piece {
            Piece::Same(Range { start, end }) => PieceState::Same([*start, *end]),
            Piece::Block { stands_for: Range { start, end }, shows, prefix } => PieceState::Block {
                stands_for: [*start, *end],
                shows: shows.iter().map(&mut shown).collect(),
                prefix: hex(*prefix),
            },
        };
        let mut compaction = |known: &KnownCompaction<M>| CompactionState {
            of: (known.entries, hex(known.prefix)),
            left: known.compaction.left,
            asked: known.compaction.asked,
            removed: known.compaction.removed,
            account: known.compaction.account,
            pieces: known.compaction.pieces.iter().map(&mut piece).collect(),
        };
        let mut compactions = |track: &Track<M>| track.compactions.iter().map(|of| compaction(of)).collect();
        let budgets = self
            .tracks
            .iter()
            .map(|track| BudgetState {
                budget: track.budget,
                compactions: compactions(track),
                waits: track.waits.map(|wait| WaitState { of: (wait.entries, hex(wait.prefix)), left: wait.left }),
            })
            .collect();
        let landmarks = self.landmarks.iter().map(|entry| hex(entry.0)).collect();
        let View { ceiling, refusals, cache, account, .. } = *self;
        State { version: VERSION, landmarks, ceiling, refusals, budgets, cache, account }
    }

    /// Restores a view from its state. `message` returns a message that is not in the history, by its index in the state.
    ///
    /// # Errors
    /// `Conversation` if this is not the state of a view.
    pub fn restored(state: &State, message: impl Fn(usize) -> Option<M>) -> Result<View<M>> {
        if state.version != VERSION {
            return Err(not_a_state(&format!("it is of version {}, not {VERSION}", state.version)));
        }
        if state.budgets.len() > BUDGETS {
            return Err(not_a_state("it has too many budgets"));
        }
        let shown = |shown: &ShownState, known: usize| match shown {
            ShownState::Entry(entry) if *entry < known => Ok(ShownMessage::Entry(*entry)),
            ShownState::Entry(entry) => {
                Err(not_a_state(&format!("entry {entry} is outside the messages of its block")))
            }
            ShownState::Message(place) => message(*place)
                .map(ShownMessage::Made)
                .ok_or_else(|| not_a_state(&format!("message {place}, which is stored beside it, is missing"))),
        };
        let mut tracks = Vec::with_capacity(state.budgets.len());
        for BudgetState { budget, compactions, waits } in &state.budgets {
            if compactions.len() > COMPACTIONS {
                return Err(not_a_state("it has too many compactions"));
            }
            let mut restored = VecDeque::with_capacity(compactions.len());
            for CompactionState { of: (entries, prefix), left, asked, removed, account, pieces } in compactions {
                let mut end = 0;
                let mut read = Vec::with_capacity(pieces.len());
                for piece in pieces {
                    let (PieceState::Same(entries) | PieceState::Block { stands_for: entries, .. }) = piece;
                    if entries[0] != end || entries[1] < end {
                        return Err(not_a_state("its pieces do not follow each other"));
                    }
                    end = entries[1];
                    read.push(match piece {
                        PieceState::Same(_) => Piece::Same(entries[0]..end),
                        PieceState::Block { shows, prefix, .. } => Piece::Block {
                            stands_for: entries[0]..end,
                            shows: shows.iter().map(|each| shown(each, end)).collect::<Result<_>>()?,
                            prefix: digest(prefix)?,
                        },
                    });
                }
                let compaction =
                    Compaction { pieces: read, left: *left, asked: *asked, removed: *removed, account: *account };
                restored.push_back(Arc::new(KnownCompaction {
                    compaction,
                    entries: *entries,
                    prefix: digest(prefix)?,
                }));
            }
            let waits = waits.as_ref().map(|WaitState { of: (entries, prefix), left }| {
                Ok(Wait { entries: *entries, prefix: digest(prefix)?, left: *left })
            });
            tracks.push(Track { budget: *budget, compactions: restored, waits: waits.transpose()? });
        }
        let landmarks = state.landmarks.iter().map(|hex| digest(hex).map(EntryDigest)).collect::<Result<_>>()?;
        let State { ceiling, refusals, cache, account, .. } = *state;
        Ok(View { tracks, landmarks, ceiling, refusals, is_answered: true, cache, account })
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn hex(digest: u128) -> String {
    format!("{digest:032x}")
}

fn digest(hex: &str) -> Result<u128> {
    u128::from_str_radix(hex, 16).map_err(|_| not_a_state(&format!("{hex:?} is not a digest")))
}

/// Returns the error about a state that belongs to another history.
pub fn of_another() -> Error {
    Error::Conversation {
        problem: "the state of the view belongs to another history: no message of that history is in this one"
            .to_owned(),
        remedy: "give the history of that state, or open a view without a state".to_owned(),
    }
}

/// Returns the error about data that is not the state of a view.
pub fn not_a_state(problem: &str) -> Error {
    Error::Conversation {
        problem: format!("this is not the state of a view: {problem}"),
        remedy: "give what `View.state()` returned, or open a view without a state".to_owned(),
    }
}
