//! Reports teach a scale and the tokens beside the messages. A wild report teaches nothing.

use proptest::prelude::*;
use ullage::tokens::{Calibration, Learned, Remainder, Scale};

const HIDDEN: usize = 20_000;

fn beside(calibration: &Calibration, beginning: u128) -> Option<usize> {
    calibration.remainder(beginning).map(Remainder::beside)
}

/// Observes `requests` of one conversation whose provider counts `factor` times as much, and `HIDDEN` beside.
fn conversation(calibration: &Calibration, beginning: u128, factor: f64, requests: usize) -> usize {
    let mut counted = 1_000;
    for request in 0..requests {
        counted += 200 + request * 37 % 900;
        let reported = (counted as f64 * factor) as usize + HIDDEN;
        assert_eq!(calibration.observe(beginning, counted, reported), Learned::Something);
    }
    counted
}

#[test]
fn nothing_is_known_at_first() {
    let calibration = Calibration::default();
    assert_eq!(calibration.scale(), Scale::ONE);
    assert_eq!(calibration.remainder(7), None);
}

#[test]
fn a_conversation_teaches_the_scale_and_what_stands_beside_it() {
    for factor in [0.6, 0.95, 1.0, 1.28, 2.2] {
        let calibration = Calibration::default();
        conversation(&calibration, 7, factor, 12);
        assert!((calibration.scale().factor() - factor).abs() <= 0.011, "{factor}: {:?}", calibration.scale());
        let beside = beside(&calibration, 7).expect("it was observed");
        assert!(beside.abs_diff(HIDDEN) < 200, "{factor}: {beside}");
        assert_eq!(calibration.remainder(8), None);
    }
}

#[test]
fn wild_reports_change_little() {
    let calibration = Calibration::default();
    let counted = conversation(&calibration, 7, 1.28, 12);
    let (scale, remainder) = (calibration.scale(), calibration.remainder(7));
    for impossible in [0, 1, counted / 5, 10_000_000, usize::MAX] {
        assert_eq!(calibration.observe(7, counted, impossible), Learned::Nothing, "{impossible}");
    }
    assert_eq!((calibration.scale(), calibration.remainder(7)), (scale, remainder));
    let known = remainder.map_or(0, Remainder::beside);
    for odd in [counted * 4, counted / 2] {
        assert_eq!(calibration.observe(7, counted + 100, odd), Learned::Something);
        assert!((calibration.scale().factor() - scale.factor()).abs() <= 0.011);
        let moved = beside(&calibration, 7).unwrap_or_default().abs_diff(known);
        assert!(moved < 300, "{moved} tokens by one report");
    }
}

#[test]
fn the_conversation_observed_longest_ago_is_forgotten() {
    const REMEMBERED: u128 = 64;
    let calibration = Calibration::default();
    let observe = |beginning| {
        for _ in 0..3 {
            calibration.observe(beginning, 5_000, 9_000);
        }
    };
    (0..REMEMBERED).for_each(observe);
    observe(0);
    observe(REMEMBERED);
    assert_eq!(calibration.remainder(1), None);
    assert_eq!([0, 2, REMEMBERED].map(|beginning| beside(&calibration, beginning)), [Some(4_000); 3]);
}

#[test]
fn one_wild_report_at_the_beginning_is_not_believed() {
    let calibration = Calibration::default();
    for (counted, reported, expected) in [(10, 200_000, None), (400, 900, None), (800, 1_300, Some(500))] {
        assert_eq!(calibration.observe(7, counted, reported), Learned::Something);
        assert_eq!(beside(&calibration, 7), expected, "{counted}");
    }
}

#[test]
fn one_odd_growth_moves_no_scale() {
    for odd in [0.45, 2.43] {
        let calibration = Calibration::default();
        calibration.observe(7, 1_000, 5_000);
        let reported = 5_000 + (1_000.0 * odd) as usize;
        assert_eq!(calibration.observe(7, 2_000, reported), Learned::Something);
        assert_eq!(calibration.scale(), Scale::ONE, "{odd}");
        for request in 1..4 {
            calibration.observe(7, 2_000 + 1_000 * request, reported + 1_280 * request);
        }
        assert!((calibration.scale().factor() - 1.28).abs() < 0.011, "{odd}: {:?}", calibration.scale());
    }
}

#[test]
fn a_report_below_the_count_lowers_a_shorter_history_in_proportion() {
    let calibration = Calibration::default();
    for _ in 0..3 {
        calibration.observe(7, 10_000, 6_000);
    }
    let remainder = calibration.remainder(7).expect("it was observed");
    assert_eq!(remainder.beside(), 0);
    assert_eq!([20_000, 10_000, 1_000, 1, 0].map(|total| remainder.request(total)), [16_000, 6_000, 600, 1, 0]);
}

proptest! {
    #![proptest_config(crate::support::cases(256))]

    #[test]
    fn what_fits_at_a_scale_is_what_counts_so_much(factor in 0.4_f64..2.5, limit in 0_usize..5_000, tokens in 0_usize..5_000) {
        let calibration = Calibration::default();
        conversation(&calibration, 7, factor, 30);
        let scale = calibration.scale();
        prop_assert_eq!(tokens <= scale.most_within(limit), scale.of(tokens) <= limit);
    }

    #[test]
    fn no_report_panics_or_leads_the_scale_astray(
        reports in prop::collection::vec((0_u128..3, any::<usize>(), any::<usize>()), 0..60),
    ) {
        let calibration = Calibration::default();
        for (beginning, counted, reported) in reports {
            calibration.observe(beginning, counted, reported);
            let _ = calibration.remainder(beginning).map(|remainder| remainder.request(counted));
        }
        let factor = calibration.scale().factor();
        prop_assert!((0.4..=2.5).contains(&factor), "{}", factor);
    }
}
