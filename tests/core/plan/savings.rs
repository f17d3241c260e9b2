//! The account of a conversation: its requests, beside those of doing nothing.

use proptest::prelude::*;
use ullage::economics::{Account, Prices, Removal, Savings, SentRequest};

use crate::support::cases;

const LIMIT: usize = 10_000;
/// Tokens of the system prompt and the tools.
const BESIDE: usize = 700;

/// A session at a provider with a prompt cache. The sums of doing nothing are those of a second, simpler simulation.
#[derive(Default)]
struct Session {
    account: Account,
    messages: usize,
    removal: Removal,
    /// Messages of the request before, which the provider has in its cache.
    known: Option<usize>,
    /// The same of doing nothing.
    without: usize,
    known_without: usize,
    expected: Savings,
}

impl Session {
    fn grow(&mut self, tokens: usize) {
        self.messages += tokens;
        self.without += tokens;
    }

    fn compact(&mut self, after: usize, unchanged: usize) {
        self.removal = self.removal.and((self.messages, after), unchanged, LIMIT);
        self.messages = after;
    }

    fn send(&mut self) {
        let Removal { unchanged, is_forced, .. } = self.removal;
        let prompt = self.messages + BESIDE;
        let cached = self.known.map_or(0, |known| unchanged.unwrap_or(known) + BESIDE);
        let is_over = self.without > LIMIT;
        let (new, read) = (prompt - cached, cached);
        let (new_without, cached_without) = if self.known.is_none() || is_forced || is_over {
            self.without = self.messages;
            (new, read)
        } else {
            (self.without - self.known_without, self.known_without + BESIDE)
        };
        self.expected += Savings { requests: 1, new, cached, new_without, cached_without };
        (self.known, self.known_without) = (Some(self.messages), self.without);
        self.account.add(SentRequest {
            prompt,
            messages: self.messages,
            before: 0,
            cached: Some(cached),
            removal: self.removal,
        });
        self.removal = Removal { removed: self.removal.removed, ..Removal::default() };
    }
}

#[test]
fn doing_nothing_costs_the_same_as_a_session_without_compactions() {
    let mut session = Session::default();
    for _ in 0..50 {
        session.grow(100);
        session.send();
    }
    let Savings { new, cached, new_without, cached_without, .. } = session.account.savings;
    assert_eq!((new, cached), (new_without, cached_without));
    assert_eq!(new, 50 * 100 + BESIDE);
}

#[test]
fn a_compaction_costs_new_tokens_once_and_saves_cached_ones_at_each_request() {
    let mut session = Session::default();
    session.grow(8_000);
    session.send();
    session.compact(2_000, 500);
    session.send();
    let once = session.account.savings;
    assert_eq!((once.new, once.new_without), (8_000 + BESIDE + 1_500, 8_000 + BESIDE));
    assert_eq!((once.cached, once.cached_without), (500 + BESIDE, 8_000 + BESIDE));
    session.send();
    let twice = session.account.savings;
    assert_eq!(twice.cached_without - once.cached_without - (twice.cached - once.cached), 6_000);
    assert_eq!((twice.new, twice.new_without), (once.new, once.new_without));
}

#[test]
fn nothing_is_claimed_once_doing_nothing_would_not_fit() {
    let mut session = Session::default();
    session.grow(8_000);
    session.send();
    session.compact(2_000, 500);
    session.send();
    session.grow(3_000);
    session.send();
    let full = session.account.savings;
    session.grow(100);
    session.send();
    let Savings { new, cached, new_without, cached_without, .. } = session.account.savings;
    assert_eq!(new_without - full.new_without, new - full.new);
    assert_eq!(cached_without - full.cached_without, cached - full.cached);
}

#[test]
fn a_forced_compaction_has_no_alternative() {
    let mut session = Session::default();
    session.grow(9_000);
    session.send();
    session.grow(2_000);
    session.compact(2_500, 500);
    session.send();
    session.send();
    let Savings { new, cached, new_without, cached_without, .. } = session.account.savings;
    assert_eq!((new, cached), (new_without, cached_without));
}

#[test]
fn without_a_cache_a_removed_token_is_a_new_one_less() {
    let mut account = Account::default();
    let sent = |prompt, removal| SentRequest { prompt, messages: prompt, before: 0, cached: Some(0), removal };
    account.add(sent(8_000, Removal::default()));
    account.add(sent(8_000, Removal::default()));
    let removal = Removal::default().and((8_000, 2_000), 0, LIMIT);
    account.add(sent(2_000, removal));
    let Savings { new, cached, new_without, cached_without, .. } = account.savings;
    assert_eq!((cached, cached_without), (0, 0));
    assert_eq!(new_without - new, 6_000);
}

#[test]
fn a_history_that_the_host_made_shorter_is_compared_from_there() {
    let mut account = Account::default();
    let sent = |prompt, removal| SentRequest { prompt, messages: prompt, before: 0, cached: None, removal };
    account.add(sent(8_000, Removal::default()));
    let removal = Removal::default().and((8_000, 2_000), 0, LIMIT);
    account.add(sent(2_000, removal));
    let before = account.savings;
    account.add(sent(1_000, Removal { removed: removal.removed, ..Removal::default() }));
    let Savings { new, cached, new_without, cached_without, .. } = account.savings;
    assert_eq!(new_without - before.new_without, new - before.new);
    assert_eq!(cached_without - before.cached_without, cached - before.cached);
}

#[test]
fn a_compaction_whose_request_was_not_reported_has_no_savings() {
    let mut account = Account::default();
    let sent = |prompt, removal| SentRequest { prompt, messages: prompt, before: 0, cached: Some(prompt), removal };
    account.add(sent(8_000, Removal::default()));
    let removal = Removal::default().and((8_000, 2_000), 500, LIMIT);
    let later = Removal { removed: removal.removed, ..Removal::default() };
    for _ in 0..3 {
        account.add(sent(2_000, later));
    }
    let Savings { new, cached, new_without, cached_without, .. } = account.savings;
    assert_eq!((new, cached), (new_without, cached_without));
}

proptest! {
    #![proptest_config(cases(64))]

    /// Growth, and the share to which the session is compacted before a request, if at all.
    #[test]
    fn the_account_agrees_with_a_simulation(
        steps in prop::collection::vec((1usize..1_500, prop::option::weighted(0.2, 0.05f64..0.6)), 1..80)
    ) {
        let mut session = Session::default();
        for (tokens, share) in steps {
            session.grow(tokens);
            let share = share.or((session.messages > LIMIT).then_some(0.25));
            if let (Some(share), Some(known)) = (share, session.known) {
                #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                let after = (session.messages as f64 * share) as usize;
                session.compact(after, (after / 4).min(known));
            }
            session.send();
            prop_assert_eq!(session.account.savings, session.expected);
        }
    }
}

#[test]
fn costs_are_in_tokens_of_plain_input() {
    let savings = Savings { requests: 1, new: 100, cached: 1_000, new_without: 200, cached_without: 3_000 };
    let prices = Prices::default();
    assert!((savings.cost(prices) - 225.0).abs() < 1e-9);
    assert!((savings.cost_without(prices) - 550.0).abs() < 1e-9);
}
