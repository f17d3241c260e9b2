//! Costs and savings of a prompt cache, calculated by hand.

use ullage::economics::{CacheUse, PlanCost, Prices, PromptCache};

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

#[test]
fn a_plan_pays_back_when_what_it_saves_is_what_it_cost() {
    let prices = Prices { input: 3.0, ..Prices::default() };
    let cost = PlanCost::of(100_000, 60_000, 20_000, prices);
    assert_eq!((cost.unchanged, cost.rewritten, cost.saved), (20_000, 40_000, 40_000));
    // 40,000 x (1.25 - 0.1) = 46,000 tokens once, 40,000 x 0.1 = 4,000 each time: 11.5 requests.
    assert!(close(cost.once, 0.138) && close(cost.each, 0.012), "{cost:?}");
    assert_eq!(cost.pays_back_after, Some(12));
    // By hand: what twelve and eleven requests cost with the plan and without.
    let with = |requests: f64| 20_000.0 * 0.1 + 40_000.0 * 1.25 + (requests - 1.0) * 60_000.0 * 0.1;
    let without = |requests: f64| requests * 100_000.0 * 0.1;
    assert!(with(12.0) <= without(12.0) && with(11.0) > without(11.0));
}

#[test]
fn a_plan_that_saves_nothing_never_pays_back_and_one_that_cuts_the_end_does_at_once() {
    assert_eq!(PlanCost::of(1_000, 1_000, 500, Prices::default()).pays_back_after, None);
    assert_eq!(PlanCost::of(1_000, 500, 500, Prices::default()).pays_back_after, Some(0));
    assert_eq!(PlanCost::of(1_000, 1_000, 1_000, Prices::default()).pays_back_after, Some(0));
    let free_to_write = Prices { cache_write: 0.1, ..Prices::default() };
    assert_eq!(PlanCost::of(1_000, 900, 0, free_to_write).pays_back_after, Some(0));
    let free_to_read = Prices { cache_read: 0.0, ..Prices::default() };
    assert_eq!(PlanCost::of(1_000, 10, 0, free_to_read).pays_back_after, None);
}

#[test]
fn a_cache_holds_a_prompt_up_to_its_first_change() {
    let mut cache = PromptCache::default();
    cache.request([(1, 10), (2, 20)]);
    assert_eq!(cache.used(), CacheUse { requests: 1, read: 0, written: 30 });
    cache.request([(1, 10), (2, 20), (3, 30)]);
    assert_eq!(cache.used(), CacheUse { requests: 2, read: 30, written: 60 });
    // The second is another one, so the third is written too, though it is the same.
    cache.request([(1, 10), (9, 5), (3, 30)]);
    assert_eq!(cache.used(), CacheUse { requests: 3, read: 40, written: 95 });
    assert!(close(cache.used().cost(Prices::default()), 40.0 * 0.1 + 95.0 * 1.25));
}

#[test]
fn prices_are_checked_and_factors_known_by_the_id() {
    for prices in [
        Prices { input: -1.0, ..Prices::default() },
        Prices { cache_read: f64::NAN, ..Prices::default() },
        Prices { cache_write: f64::INFINITY, ..Prices::default() },
    ] {
        assert!(prices.checked().is_err(), "{prices:?}");
    }
    let factors = |model| Prices::factors_of_model(model).map(|prices| (prices.cache_write, prices.cache_read));
    assert_eq!(factors("us.anthropic.claude-sonnet-4-5-20250929-v1:0"), Some((1.25, 0.1)));
    assert_eq!(factors("gpt-4o-mini"), Some((1.0, 0.5)));
    assert_eq!(factors("o3-mini"), Some((1.0, 0.5)));
    assert_eq!(factors("unheard-of"), None);
}
