//! Pieces of a history: what is remembered of a rewritten request, and what of it serves another history.

use proptest::prelude::*;
use ullage::economics::{Account, ProviderCache, Removal, SentRequest};
use ullage::ledger::{EntryDigest, entry_digests};
use ullage::message::{Conversation, Message, Part, Pin, Role, Span};
use ullage::view::{Compaction, Index, Output, Piece, Prefixes, ShownMessage, Units, View, share_compactions};

/// A message that is not in the history, named by a number.
type Made = u32;

fn prefixes(entries: &[u128]) -> Prefixes {
    Prefixes::of(entries.iter().copied().map(EntryDigest).collect())
}

/// A compaction that left these pieces.
fn left(pieces: Vec<Piece<Made>>) -> Compaction<Made> {
    Compaction { pieces, left: 1_000, asked: None, removed: 0, account: Account::default() }
}

fn shown(units: &Units<Made>) -> Vec<ShownMessage<Made>> {
    units.shown().cloned().collect()
}

/// The effect of a rewrite on each message of a request in turn.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Stays,
    Goes,
    Changes,
    /// It becomes one with the next.
    Joins,
    /// Something is put in front of it.
    IsPreceded,
    /// It changes places with the next.
    Swaps,
}

fn rewritten(fates: &[Fate], count: usize) -> Vec<Output<Made>> {
    let mut outputs = Vec::new();
    let mut next = 100;
    let mut make = || {
        next += 1;
        Some(next)
    };
    let mut at = 0;
    while at < count {
        let one = at..at + 1;
        match fates[at % fates.len()] {
            Fate::Goes => {}
            Fate::Changes => outputs.push(Output { of: one, made: make() }),
            Fate::Joins if at + 1 < count => {
                outputs.push(Output { of: at..at + 2, made: make() });
                at += 1;
            }
            Fate::IsPreceded => {
                outputs.push(Output { of: 0..0, made: make() });
                outputs.push(Output { of: one, made: None });
            }
            Fate::Swaps if at + 1 < count => {
                outputs.push(Output { of: at + 1..at + 2, made: None });
                outputs.push(Output { of: one, made: None });
                at += 1;
            }
            Fate::Stays | Fate::Joins | Fate::Swaps => outputs.push(Output { of: one, made: None }),
        }
        at += 1;
    }
    outputs
}

/// The pieces to remember of a history of `count` entries that was rewritten.
fn pieces_of(fates: &[Fate], count: usize) -> Vec<Piece<Made>> {
    let history: Vec<u128> = (1..=count as u128).collect();
    let request = Units::<Made>::of(Vec::new(), count, Vec::new());
    let mut pieces = request.compacted(rewritten(fates, count), &prefixes(&history)).pieces();
    pieces.truncate(pieces.iter().rposition(|piece| matches!(piece, Piece::Block { .. })).map_or(0, |last| last + 1));
    pieces
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        4 => Just(Fate::Stays),
        1 => Just(Fate::Goes),
        1 => Just(Fate::Changes),
        1 => Just(Fate::Joins),
        1 => Just(Fate::IsPreceded),
        1 => Just(Fate::Swaps),
    ];
    prop::collection::vec(fate, 1..40)
}

/// The part of a request that the outputs show.
fn told(outputs: &[Output<Made>], before: &[ShownMessage<Made>]) -> Vec<ShownMessage<Made>> {
    outputs
        .iter()
        .map(|output| output.made.map_or_else(|| before[output.of.start].clone(), ShownMessage::Made))
        .collect()
}

proptest! {
    #[test]
    fn a_compaction_is_shown_again_for_every_history_that_goes_on_from_it(
        count in 1usize..40, fates in fates(), more in 0usize..5
    ) {
        let mut history: Vec<u128> = (1..=count as u128).collect();
        let request = Units::<Made>::of(Vec::new(), count, Vec::new());
        let outputs = rewritten(&fates, count);
        let expected = told(&outputs, &shown(&request));
        let after = request.compacted(outputs, &prefixes(&history));
        prop_assert_eq!(shown(&after), expected.clone());

        let mut view = View::default();
        view.compacted(None, left(after.pieces()), &prefixes(&history));
        history.extend((0..more as u128).map(|entry| 1_000 + entry));
        let pieces = view.request(None, &prefixes(&history), None).compaction.pieces;
        let again = shown(&Units::of(pieces, history.len(), Vec::new()));
        prop_assert_eq!(&again[..expected.len()], &expected[..]);
        let rest: Vec<ShownMessage<Made>> = (count..history.len()).map(ShownMessage::Entry).collect();
        prop_assert_eq!(&again[expected.len()..], &rest[..]);
    }

    #[test]
    fn pieces_stand_for_the_whole_history_in_its_order(count in 1usize..40, fates in fates()) {
        let history: Vec<u128> = (1..=count as u128).collect();
        let request = Units::<Made>::of(Vec::new(), count, Vec::new());
        let after = request.compacted(rewritten(&fates, count), &prefixes(&history));
        let mut end = 0;
        for piece in after.pieces() {
            prop_assert_eq!(piece.entries().start, end);
            end = piece.entries().end;
        }
        prop_assert_eq!(end, count);
    }

    #[test]
    fn a_change_leaves_what_stands_before_it_and_shows_the_rest_as_it_is(
        count in 2usize..40, fates in fates(), at in any::<prop::sample::Index>()
    ) {
        let mut history: Vec<u128> = (1..=count as u128).collect();
        let request = Units::<Made>::of(Vec::new(), count, Vec::new());
        let mut view = View::default();
        let after = request.compacted(rewritten(&fates, count), &prefixes(&history));
        view.compacted(None, left(after.pieces()), &prefixes(&history));
        let changed = at.index(count);
        history[changed] = 5_000;
        let pieces = view.request(None, &prefixes(&history), None).compaction.pieces;
        let end = pieces.last().map_or(0, |piece| piece.entries().end);
        prop_assert!(end <= changed, "a block that stands for the changed entry is gone");
        // Every block that ends before the change is there, but for what was put between two entries.
        let is_block = |piece: &Piece<Made>| matches!(piece, Piece::Block { .. }) && !piece.entries().is_empty();
        let kept = after.pieces().into_iter().filter(|piece| is_block(piece) && piece.entries().end <= changed);
        let last = kept.map(|piece| piece.entries().end).max().unwrap_or(0);
        prop_assert_eq!(end, last);
    }

    #[test]
    fn after_a_rewind_the_newest_entry_and_the_last_request_are_shown_and_stay_as_they_are(
        count in 2usize..40, fates in fates(), length in any::<prop::sample::Index>(), asked in any::<prop::sample::Index>()
    ) {
        let history: Vec<u128> = (1..=count as u128).collect();
        let request = Units::<Made>::of(Vec::new(), count, Vec::new());
        let mut view = View::default();
        let pieces = request.compacted(rewritten(&fates, count), &prefixes(&history)).pieces();
        view.compacted(None, Compaction { asked: Some(count - 1), ..left(pieces) }, &prefixes(&history));

        let mut rewound = history[..=length.index(count - 1)].to_vec();
        let asked = asked.index(rewound.len());
        let first = view.request(None, &prefixes(&rewound), Some(asked));
        let units = Units::of(first.compaction.pieces.clone(), rewound.len(), Vec::new());
        let before = shown(&units);
        prop_assert!(before.contains(&ShownMessage::Entry(rewound.len() - 1)));
        prop_assert!(before.contains(&ShownMessage::Entry(asked)));
        if first.is_cut {
            view.compacted(None, first.compaction, &prefixes(&rewound));
        }
        rewound.extend([1_000, 1_001]);
        let grown = view.request(None, &prefixes(&rewound), Some(rewound.len() - 1)).compaction.pieces;
        let after = shown(&Units::of(grown, rewound.len(), Vec::new()));
        prop_assert_eq!(&after[..before.len()], &before[..]);
        // The branch that was compacted first is as it was.
        let old = view.request(None, &prefixes(&history), Some(count - 1)).compaction.pieces;
        prop_assert_eq!(old, pieces_of(&fates, count));
    }

    #[test]
    fn a_repair_is_not_remembered_unless_a_compaction_changes_it(count in 1usize..40, fates in fates()) {
        let history: Vec<u128> = (1..=count as u128).collect();
        let request = Units::<Made>::of(Vec::new(), count, Vec::new());
        let repaired = request.repaired(rewritten(&fates, count));
        let same: Vec<Output<Made>> =
            (0..repaired.shown().count()).map(|at| Output { of: at..at + 1, made: None }).collect();
        let after = repaired.compacted(same, &prefixes(&history));
        prop_assert_eq!(after.pieces(), vec![Piece::Same(0..count)]);
    }

    #[test]
    fn a_view_comes_back_from_its_state(count in 1usize..40, fates in fates(), budget in prop::option::of(1usize..5)) {
        let history: Vec<u128> = (1..=count as u128).collect();
        let request = Units::<Made>::of(Vec::new(), count, Vec::new());
        let mut view = View::default();
        let pieces = request.compacted(rewritten(&fates, count), &prefixes(&history)).pieces();
        view.compacted(budget, left(pieces), &prefixes(&history));
        view.refused(1_000);
        let mut messages: Vec<Made> = Vec::new();
        let state = view.state(|made| {
            messages.push(*made);
            messages.len() - 1
        });
        let text = serde_json::to_string(&state).unwrap();
        let restored = View::restored(&serde_json::from_str(&text).unwrap(), |place| messages.get(place).copied()).unwrap();
        prop_assert_eq!(restored.request(budget, &prefixes(&history), None), view.request(budget, &prefixes(&history), None));
        prop_assert_eq!(restored.ceiling(), view.ceiling());
        let mut restored = restored;
        restored.refused(700);
        view.refused(700);
        prop_assert_eq!(restored.ceiling(), view.ceiling(), "the next refusal in the row");
    }
}

proptest! {
    #[test]
    fn near_budgets_share_compactions_and_far_ones_do_not(budget in 1usize..1_000_000_000, percent in 0usize..200) {
        let other = budget + budget * percent / 100;
        prop_assert!(share_compactions(Some(budget), Some(budget)));
        prop_assert!(!share_compactions(None, Some(budget)));
        prop_assert_eq!(share_compactions(Some(budget), Some(other)), share_compactions(Some(other), Some(budget)));
        if percent >= 26 && budget >= 100 {
            prop_assert!(!share_compactions(Some(budget), Some(other)));
        }
        let mut view = View::<Made>::default();
        view.compacted(Some(budget), left(vec![Piece::Block { stands_for: 0..1, shows: vec![], prefix: 0 }]), &prefixes(&[0]));
        let is_shown = !view.request(Some(other), &prefixes(&[0]), None).compaction.pieces.is_empty();
        prop_assert_eq!(is_shown, share_compactions(Some(budget), Some(other)));
    }
}

#[test]
fn what_a_compaction_left_is_known_as_long_as_all_of_it_is_shown() {
    let block = |end: usize| Piece::Block {
        stands_for: end - 1..end,
        shows: vec![ShownMessage::Made(1)],
        prefix: prefixes(&[1, 2]).at(end).unwrap(),
    };
    let mut view = View::<Made>::default();
    view.compacted(None, left(vec![block(1), block(2)]), &prefixes(&[1, 2]));
    assert_eq!(view.request(None, &prefixes(&[1, 2, 3]), None).compaction.left, 1_000);
    let edited = view.request(None, &prefixes(&[1, 7, 3]), None).compaction;
    assert_eq!((edited.pieces.len(), edited.left), (1, 0));
}

#[test]
fn a_compaction_that_waits_is_considered_again_when_the_same_history_has_grown() {
    let mut view = View::<Made>::default();
    let size = |view: &View<Made>, history: &[u128]| view.request(None, &prefixes(history), None).compaction.left;
    drop(view.postponed(None, 700, &prefixes(&[1, 2])));
    assert_eq!(size(&view, &[1, 2, 3]), 700);
    assert_eq!(size(&view, &[1, 7, 3]), 0, "another branch does not wait");
    let state = view.state(|_| unreachable!("there is no message"));
    assert_eq!(size(&View::restored(&state, |_| None).unwrap(), &[1, 2, 3]), 700);
    let block = Piece::Block { stands_for: 0..1, shows: vec![], prefix: prefixes(&[1]).last() };
    view.compacted(None, Compaction { left: 300, ..left(vec![block]) }, &prefixes(&[1, 2, 3]));
    assert_eq!(size(&view, &[1, 2, 3, 4]), 300, "it was made");
}

#[test]
fn a_cache_is_in_use_from_the_first_answer_from_it_until_two_others() {
    let unchanged = Removal { unchanged: Some(0), ..Removal::default() };
    let mut view = View::<Made>::default();
    let (unseen, used, missed) = (ProviderCache::Unseen, ProviderCache::Used, ProviderCache::Missed);
    for (cached, removal, expected) in [
        (Some(0), Removal::default(), unseen),
        (None, Removal::default(), unseen),
        (Some(60), Removal::default(), used),
        (None, Removal::default(), used),
        (Some(10), unchanged, used),
        (Some(10), Removal::default(), missed),
        (Some(90), Removal::default(), used),
        (Some(0), Removal::default(), missed),
        (Some(0), Removal::default(), unseen),
    ] {
        view.reported(SentRequest { prompt: 200, messages: 200, before: 100, cached, removal });
        assert_eq!(view.cache(), expected);
        let state = serde_json::to_string(&view.state(|_| unreachable!("there is no message"))).unwrap();
        let restored = View::<Made>::restored(&serde_json::from_str(&state).unwrap(), |_| None).unwrap();
        assert_eq!((restored.cache(), restored.savings()), (view.cache(), view.savings()));
    }
}

/// Replaces all numbers of a JSON value but the version.
fn replace_numbers(value: &mut serde_json::Value, next: &mut impl FnMut() -> u64) {
    match value {
        serde_json::Value::Number(_) => *value = next().into(),
        serde_json::Value::Object(fields) => {
            fields
                .iter_mut()
                .filter(|(name, _)| *name != "version")
                .for_each(|(_, field)| replace_numbers(field, next));
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| replace_numbers(item, next)),
        _ => {}
    }
}

proptest! {
    /// A state may come from a damaged file.
    #[test]
    fn no_sum_of_a_state_overflows(
        numbers in prop::collection::vec(prop_oneof![Just(0), 0u64..10_000, Just(u64::MAX)], 1..30),
        removed in prop_oneof![0usize..10_000, Just(usize::MAX)],
        unchanged in prop::option::of(0usize..200),
    ) {
        let mut view = View::<Made>::default();
        let sent = |removal| SentRequest { prompt: 200, messages: 200, before: 100, cached: Some(60), removal };
        view.reported(sent(Removal::default().and((900, 100), 0, 1_000)));
        view.refused(1_000);
        let mut state = serde_json::to_value(view.state(|_| unreachable!("there is no message"))).unwrap();
        let mut numbers = numbers.iter().cycle();
        replace_numbers(&mut state, &mut || *numbers.next().unwrap());
        let mut restored = View::<Made>::restored(&serde_json::from_value(state).unwrap(), |_| None).unwrap();
        let removal = Removal { removed, unchanged, ..Removal::default() };
        for removal in [removal, removal.and((900, 100), 0, 1_000), Removal::default()] {
            restored.reported(sent(removal));
            restored.refused(200);
        }
        prop_assert!(restored.savings().requests >= 3);
        prop_assert!(restored.ceiling().is_some_and(|ceiling| ceiling <= 140));
    }
}

#[test]
fn what_is_for_one_request_stands_where_it_was_and_is_not_remembered() {
    let transient = vec![(0, 1), (2, 2), (3, 3)];
    let units = Units::of(Vec::new(), 3, transient);
    let expected = [
        ShownMessage::Made(1),
        ShownMessage::Entry(0),
        ShownMessage::Entry(1),
        ShownMessage::Made(2),
        ShownMessage::Entry(2),
        ShownMessage::Made(3),
    ];
    assert_eq!(shown(&units), expected);
    assert_eq!(units.pieces(), [Piece::Same(0..3)]);
}

#[test]
fn only_some_compactions_and_budgets_are_kept() {
    let mut view = View::<Made>::default();
    let block =
        |end: usize| vec![Piece::Block { stands_for: 0..end, shows: vec![ShownMessage::Made(1)], prefix: end as u128 }];
    let forgotten: usize = (1..100).map(|end| view.compacted(None, left(block(end)), &prefixes(&[1])).len()).sum();
    assert!((90..99).contains(&forgotten));
    let forgotten: usize =
        (1..60).map(|budget| view.compacted(Some(1 << budget), left(block(1)), &prefixes(&[1])).len()).sum();
    assert!((40..59).contains(&forgotten));
}

#[test]
fn the_order_of_keys_makes_no_other_entry_and_the_order_of_a_list_does() {
    let digest = |input: &str| {
        let part = Part::Call { id: "1".to_owned(), name: "read".to_owned(), input: input.to_owned() };
        let message =
            Message { span: Span::of(0), role: Role::Assistant, parts: vec![part], pin: Pin::Free, ties: Vec::new() };
        entry_digests(&Conversation { messages: vec![message] })
    };
    let first = digest(r#"{"a":1,"b":{"c":[1,2],"d":"x, \"y\": z"}}"#);
    assert_eq!(first, digest(r#"{"b":{"d":"x, \"y\": z","c":[1,2]},"a":1}"#));
    assert_eq!(first, digest(r#"{ "a": 1, "b": {"c": [1, 2], "d": "x, \"y\": z"} }"#));
    for other in [
        r#"{"a":1,"b":{"c":[2,1],"d":"x, \"y\": z"}}"#,
        r#"{"a":{"c":[1,2],"d":"x, \"y\": z"},"b":1}"#,
        r#"{"a":1,"b":{"c":[1,2],"d":"x, \"y\":z"}}"#,
        r#"{"a":1,"b":{"c":[1,2]},"d":"x, \"y\": z"}"#,
        r#"{"a":1,"b":[{"c":[1,2],"d":"x, \"y\": z"}]}"#,
        r#"{"a":1,"b":{"c":[1,2],"d":"x, \"y\": z""#,
        r#"{"1":"a","b":{"c":[1,2],"d":"x, \"y\": z"}}"#,
        "}}}{{{",
        "\"",
        "\"\\",
        "",
    ] {
        assert_ne!(first, digest(other), "{other}");
    }
}

#[test]
fn what_was_put_in_serves_no_other_history() {
    let inserted = Piece::Block { stands_for: 0..0, shows: vec![ShownMessage::Made(1)], prefix: 0 };
    let gone = Piece::Block { stands_for: 1..3, shows: vec![], prefix: prefixes(&[1, 2, 3]).at(3).unwrap() };
    for pieces in [vec![inserted.clone()], vec![inserted, Piece::Same(0..1), gone]] {
        let mut view = View::<Made>::default();
        view.compacted(None, left(pieces.clone()), &prefixes(&[1, 2, 3, 4]));
        assert_eq!(view.request(None, &prefixes(&[1, 2, 3, 4, 5]), None).compaction.pieces, pieces);
        assert_eq!(view.request(None, &prefixes(&[7, 8, 9]), None).compaction.pieces, []);
        assert_eq!(view.request(None, &prefixes(&[1, 8, 9, 10]), None).compaction.pieces, []);
    }
}

proptest! {
    #[test]
    fn a_history_finds_the_view_of_its_longest_beginning(
        turns in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..40)
    ) {
        // A model of the index: the histories that each view was asked about.
        let mut asked: Vec<(u64, Vec<u128>)> = Vec::new();
        let mut index = Index::<u64>::new(usize::MAX);
        for (turn, (from, length)) in turns.into_iter().enumerate() {
            let mut history = match asked.len() {
                0 => Vec::new(),
                count => asked[from.index(count)].1.clone(),
            };
            history.truncate(length.index(history.len() + 1));
            history.push(turn as u128 % 7 + 1);
            let begins = |(_, other): &&(u64, Vec<u128>)| history.starts_with(other);
            // The newest of the longest.
            let longest = asked.iter().filter(begins).max_by_key(|(_, other)| other.len());
            let found = index.find(&prefixes(&history));
            prop_assert_eq!(found.as_ref().map(|found| found.view), longest.map(|(view, _)| *view));
            let last_of = |view: u64| asked.iter().rev().find(|(other, _)| *other == view);
            let is_last = longest.is_some_and(|longest| last_of(longest.0).map(|(_, last)| last) == Some(&longest.1));
            prop_assert_eq!(found.as_ref().is_some_and(|found| found.is_last), is_last);
            let known = found.as_ref().filter(|found| found.is_last).map(|found| found.number);
            let number = known.unwrap_or_else(|| index.add(turn as u64));
            let view = found.filter(|found| found.is_last).map_or(turn as u64, |found| found.view);
            let dropped = index.note(number, &prefixes(&history), 1, 1);
            prop_assert!(dropped.released.is_empty() && dropped.forgotten.is_empty());
            asked.push((view, history));
        }
    }

    #[test]
    fn an_index_stays_within_its_bytes_and_drops_what_was_not_used_for_longest(
        sizes in prop::collection::vec((0usize..2_000, 0usize..200), 1..40), limit in 1_000usize..5_000
    ) {
        let mut index = Index::<usize>::new(limit);
        let mut held = std::collections::BTreeMap::new();
        for (view, (bytes, decided)) in sizes.into_iter().enumerate() {
            let number = index.add(view);
            let dropped = index.note(number, &prefixes(&[view as u128]), bytes, decided);
            held.insert(view, bytes + decided);
            for released in dropped.released {
                prop_assert!(released < view);
                held.insert(released, 0);
            }
            for forgotten in dropped.forgotten {
                prop_assert_eq!(held.keys().next().copied(), Some(forgotten));
                held.remove(&forgotten);
            }
            prop_assert_eq!(index.len(), held.len());
            prop_assert!(index.len() == 1 || held.values().sum::<usize>() <= limit);
            prop_assert_eq!(index.find(&prefixes(&[view as u128])).map(|found| found.view), Some(view));
        }
    }
}
