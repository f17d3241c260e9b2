//! A request under construction: its messages, and the history entries that each replaces.

use std::ops::Range;

use super::pieces::{Piece, Prefixes, ShownMessage, push};

/// Messages of a request that together replace some entries of the history.
#[derive(Debug, Clone)]
pub struct Unit<M> {
    /// The entries; empty for a message that is in no history, such as a reminder for this request only.
    pub stands_for: Range<usize>,
    /// The messages that the model sees in their place.
    pub shows: Vec<ShownMessage<M>>,
    /// The pieces to remember for the next request: those from which the messages were made. A repair is made again in
    /// each request, because an answer may have arrived.
    remembered: Vec<Piece<M>>,
    /// True if a part of it is not in the next request.
    pub is_transient: bool,
    /// True if a repair changed it.
    is_repaired: bool,
}

/// A message of a rewritten request.
#[derive(Debug, Clone)]
pub struct Output<M> {
    /// The messages from which it was made, as places in the request; empty for an inserted message.
    pub of: Range<usize>,
    /// The message; `None` if it is the single message of `of`, unchanged.
    pub made: Option<M>,
}

/// A whole request.
#[derive(Debug, Clone)]
pub struct Units<M>(Vec<Unit<M>>);

impl<M: Clone> Units<M> {
    /// Returns a request for a history of this many entries, the first of which these pieces show. `transient` are
    /// messages that are in no history, each with the number of entries before it, in order. O(entries).
    pub fn of(pieces: Vec<Piece<M>>, entries: usize, transient: Vec<(usize, M)>) -> Units<M> {
        let mut units = Vec::with_capacity(entries);
        let mut transient = transient.into_iter().peekable();
        let mut next = 0;
        let same = |entry: usize| Unit {
            stands_for: entry..entry + 1,
            shows: vec![ShownMessage::Entry(entry)],
            remembered: vec![Piece::Same(entry..entry + 1)],
            is_transient: false,
            is_repaired: false,
        };
        let rest = pieces.last().map_or(0, |piece| piece.entries().end);
        for piece in pieces.into_iter().chain(std::iter::once(Piece::Same(rest..entries))) {
            let (first, end) = (piece.entries().start, piece.entries().end);
            let mut before = |units: &mut Vec<Unit<M>>, entry: usize| {
                while let Some((at, message)) = transient.next_if(|(at, _)| *at <= entry) {
                    units.push(Unit {
                        stands_for: at..at,
                        shows: vec![ShownMessage::Made(message)],
                        remembered: Vec::new(),
                        is_transient: true,
                        is_repaired: false,
                    });
                }
            };
            match piece {
                Piece::Same(_) => {
                    for entry in first..end {
                        before(&mut units, entry);
                        units.push(same(entry));
                    }
                }
                Piece::Block { ref stands_for, ref shows, .. } => {
                    before(&mut units, first);
                    units.push(Unit {
                        stands_for: stands_for.clone(),
                        shows: shows.clone(),
                        remembered: vec![piece],
                        is_transient: false,
                        is_repaired: false,
                    });
                }
            }
            next = end;
        }
        units.extend(transient.map(|(_, message)| Unit {
            stands_for: next..next,
            shows: vec![ShownMessage::Made(message)],
            remembered: Vec::new(),
            is_transient: true,
            is_repaired: false,
        }));
        Units(units)
    }

    /// Returns the units, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Unit<M>> {
        self.0.iter()
    }

    /// Returns the messages of the request, in order.
    pub fn shown(&self) -> impl Iterator<Item = &ShownMessage<M>> {
        self.0.iter().flat_map(|unit| &unit.shows)
    }

    /// Returns the number of messages up to the last one that a repair changed or removed. O(units).
    pub fn repaired_end(&self) -> usize {
        let last = self.0.iter().rposition(|unit| unit.is_repaired);
        last.map_or(0, |last| self.0[..=last].iter().map(|unit| unit.shows.len()).sum())
    }

    /// Returns the request after a repair. The pieces to remember stay the same. O(messages).
    #[must_use]
    pub fn repaired(&self, outputs: Vec<Output<M>>) -> Units<M> {
        self.rewritten(outputs, |units, now| {
            now.is_repaired = true;
            now.remembered = units.iter().flat_map(|unit| unit.remembered.clone()).collect();
        })
    }

    /// Returns the request after a compaction, with its present messages as the pieces to remember. O(messages).
    #[must_use]
    pub fn compacted(&self, outputs: Vec<Output<M>>, prefixes: &Prefixes) -> Units<M> {
        self.rewritten(outputs, |units, now| {
            let stands_for = now.stands_for.clone();
            match prefixes.at(stands_for.end) {
                Some(prefix) if !now.is_transient => {
                    now.remembered = vec![Piece::Block { stands_for, shows: now.shows.clone(), prefix }];
                }
                // Content that is not in the next request is decided again there.
                _ => {
                    now.is_repaired = units.iter().any(|unit| unit.is_repaired);
                    now.remembered = units.iter().flat_map(|unit| unit.remembered.clone()).collect();
                }
            }
        })
    }

    /// Returns the pieces to remember of this request.
    pub fn pieces(&self) -> Vec<Piece<M>> {
        let mut pieces = Vec::new();
        self.0.iter().flat_map(|unit| unit.remembered.clone()).for_each(|piece| push(&mut pieces, piece));
        pieces
    }

    /// Returns the units of rewritten messages. Unchanged units stay. Units that became one message, or changed places,
    /// become one unit. Removed units belong to the changed unit before them, which has the note about them, or else to
    /// the one after. `remember` gets the old units and the new one.
    fn rewritten(&self, outputs: Vec<Output<M>>, remember: impl Fn(&[Unit<M>], &mut Unit<M>)) -> Units<M> {
        let shown: Vec<(usize, &ShownMessage<M>)> =
            self.0.iter().enumerate().flat_map(|(unit, of)| of.shows.iter().map(move |shown| (unit, shown))).collect();
        // The units from which each output was made.
        let outputs: Vec<(Range<usize>, bool, ShownMessage<M>)> = outputs
            .into_iter()
            .map(|output| {
                let units =
                    match (shown.get(output.of.start), output.of.clone().last().and_then(|last| shown.get(last))) {
                        (Some((first, _)), Some((last, _))) => *first..*last + 1,
                        _ => 0..0,
                    };
                let is_same = output.made.is_none();
                let message = output.made.map_or_else(|| shown[output.of.start].1.clone(), ShownMessage::Made);
                (units, is_same, message)
            })
            .collect();
        // The first unit of all later outputs.
        let mut later = vec![self.0.len(); outputs.len() + 1];
        for (index, (units, ..)) in outputs.iter().enumerate().rev() {
            later[index] = if units.is_empty() { later[index + 1] } else { later[index + 1].min(units.start) };
        }

        let mut groups: Vec<UnitGroup<M>> = Vec::new();
        let (mut from, mut end) = (0, 0);
        for index in 0..outputs.len() {
            end = end.max(outputs[index].0.end);
            if end > later[index + 1] {
                continue; // A later output is made from the messages before it.
            }
            groups.push(UnitGroup::of(&outputs[from..=index], end, &self.0));
            from = index + 1;
        }

        let mut units: Vec<Unit<M>> = Vec::with_capacity(groups.len());
        for group in close_gaps(groups, &self.0) {
            let old = &self.0[group.units.clone()];
            if let ([unit], true) = (old, group.is_same) {
                units.push(unit.clone());
                continue;
            }
            let entry = old
                .first()
                .map_or_else(|| units.last().map_or(0, |unit| unit.stands_for.end), |unit| unit.stands_for.start);
            let mut unit = Unit {
                stands_for: entry..old.last().map_or(entry, |unit| unit.stands_for.end),
                shows: group.shows,
                remembered: Vec::new(),
                is_transient: old.iter().any(|unit| unit.is_transient),
                is_repaired: false,
            };
            remember(old, &mut unit);
            units.push(unit);
        }
        Units(units)
    }
}

/// Consecutive outputs, and the units from which they were made.
struct UnitGroup<M> {
    units: Range<usize>,
    shows: Vec<ShownMessage<M>>,
    is_same: bool,
}

impl<M: Clone> UnitGroup<M> {
    /// Groups the outputs. `end` is the first unit after all units used so far.
    fn of(outputs: &[(Range<usize>, bool, ShownMessage<M>)], end: usize, all: &[Unit<M>]) -> UnitGroup<M> {
        let start = outputs.iter().filter(|(units, ..)| !units.is_empty()).map(|(units, ..)| units.start).min();
        let units = start.map_or(end..end, |start| start..end);
        let shows: Vec<ShownMessage<M>> = outputs.iter().map(|(.., shown)| shown.clone()).collect();
        // All messages of one unit, in order.
        let is_same = units.len() == 1
            && outputs.iter().all(|(_, is_same, _)| *is_same)
            && all[units.start].shows.len() == shows.len()
            && outputs.is_sorted_by_key(|(units, ..)| units.start);
        UnitGroup { units, shows, is_same }
    }
}

/// Assigns every unit between two groups, none of which is shown any more, to one of them, or to a new group.
fn close_gaps<M>(groups: Vec<UnitGroup<M>>, all: &[Unit<M>]) -> Vec<UnitGroup<M>> {
    let mut closed: Vec<UnitGroup<M>> = Vec::with_capacity(groups.len());
    let mut next = 0;
    let behind = UnitGroup { units: all.len()..all.len(), shows: Vec::new(), is_same: true };
    for mut group in groups.into_iter().chain(std::iter::once(behind)) {
        let gap = next..group.units.start.max(next);
        if all[gap.clone()].iter().all(|unit| unit.shows.is_empty()) {
            // These units showed nothing before.
            closed.extend(gap.map(|unit| UnitGroup { units: unit..unit + 1, shows: Vec::new(), is_same: true }));
        } else {
            match closed.last_mut() {
                Some(before) if !before.is_same => before.units.end = gap.end,
                _ if !group.is_same => group.units.start = gap.start,
                _ => closed.push(UnitGroup { units: gap, shows: Vec::new(), is_same: false }),
            }
        }
        next = group.units.end;
        closed.push(group);
    }
    closed.pop();
    closed
}
