//! Token costs of media by the rules of the providers.

use crate::support::images::{count, image};
use crate::support::{cases, exact};
use proptest::prelude::*;
use serde_json::json;
use ullage::tokens::{CountTokens, Encoding, Exact, MediaRule, counter_for_model};
use ullage::wire::Format;

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn no_rule_is_dearer_than_the_dearest_and_each_is_symmetric(width in 1_u32..20_000, height in 1_u32..20_000) {
        for rule in [MediaRule::CLAUDE, MediaRule::CLAUDE_FINE, MediaRule::Tiles, MediaRule::Crops, MediaRule::Dearest] {
            let tokens = |width, height| rule.tokens(image(width, height));
            prop_assert!(tokens(width, height) > 0);
            prop_assert_eq!(tokens(width, height), tokens(height, width));
            let dearest = MediaRule::Dearest.tokens(image(width, height));
            prop_assert!(tokens(width, height) <= dearest);
        }
    }
}

#[test]
fn the_rules_give_what_the_providers_state() {
    let tokens = |rule: MediaRule, width, height| rule.tokens(image(width, height));
    for (rule, width, height, expected) in [
        (MediaRule::CLAUDE, 1_000, 1_000, 1_296),
        (MediaRule::CLAUDE, 200, 200, 64),
        (MediaRule::CLAUDE, 1, 1, 1),
        (MediaRule::CLAUDE, 8_000, 8_000, 1_568),
        (MediaRule::CLAUDE_FINE, 1_920, 1_080, 2_691),
        (MediaRule::CLAUDE_FINE, 3_840, 2_160, 4_784),
        (MediaRule::Tiles, 1_024, 1_024, 765),
        (MediaRule::Tiles, 2_048, 4_096, 1_105),
        (MediaRule::Tiles, 65_535, 1, 85 + 4 * 170),
        (MediaRule::of_model("gpt-4.1-mini"), 1_024, 1_024, 1_659),
        (MediaRule::of_model("gpt-4.1-mini"), 4_000, 1_474, 2_489),
        (MediaRule::Crops, 384, 384, 258),
        (MediaRule::Crops, 385, 384, 258),
        (MediaRule::Crops, 1_920, 1_080, 6 * 258),
        (MediaRule::Crops, u32::MAX, u32::MAX, 11 * 11 * 258),
        (MediaRule::of_model("gemini-3-pro-preview"), 1_920, 1_080, 1_120),
        (MediaRule::Dearest, 100, 100, 258),
        (MediaRule::Dearest, 1_920, 1_080, 2_691),
    ] {
        assert_eq!(tokens(rule, width, height), expected, "{rule:?} {width}x{height}");
    }
}

#[test]
fn the_rule_follows_from_the_model() {
    for (id, rule) in [
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", MediaRule::CLAUDE),
        ("anthropic/claude-3.5-sonnet", MediaRule::CLAUDE),
        ("claude-opus-4-6", MediaRule::CLAUDE),
        ("claude-opus-4-7-20260416", MediaRule::CLAUDE_FINE),
        ("claude-of-the-future", MediaRule::CLAUDE_FINE),
        ("openai/gpt-4o-mini", MediaRule::Tiles),
        ("gpt-5-2025-08-07", MediaRule::Tiles),
        ("gpt-5.9", MediaRule::Dearest),
        ("gpt-5-1", MediaRule::Dearest),
        ("gpt-50", MediaRule::Dearest),
        ("gpt-4-1", MediaRule::Tiles),
        ("gpt-4-1-mini", MediaRule::of_model("gpt-4.1-mini")),
        ("claude-opus-4_7", MediaRule::CLAUDE_FINE),
        ("o1ive", MediaRule::Dearest),
        ("gemini-2.5-pro", MediaRule::Crops),
        ("llama-pro1", MediaRule::Dearest),
        ("", MediaRule::Dearest),
    ] {
        assert_eq!(counter_for_model(id).media_rule(), rule, "{id}");
    }
    assert_eq!(Exact::new(Encoding::Cl100kBase).media_rule(), MediaRule::Tiles);
}

#[test]
fn what_lies_elsewhere_counts_as_the_constant_of_its_kind() {
    let s3 = json!({ "s3Location": { "uri": "s3://bucket/key" } });
    for (format, block, expected) in [
        (
            Format::Anthropic,
            json!({ "type": "image", "source": { "type": "url", "url": "https://example.org/a.png" } }),
            1_600,
        ),
        (Format::Anthropic, json!({ "type": "image", "source": { "type": "file", "file_id": "f" } }), 1_600),
        (
            Format::Anthropic,
            json!({ "type": "document", "source": { "type": "url", "url": "https://example.org/a.pdf" } }),
            3_000,
        ),
        (Format::Anthropic, json!({ "type": "image" }), 1_600),
        (Format::Bedrock, json!({ "image": { "source": s3 } }), 1_600),
        (Format::Bedrock, json!({ "document": { "source": s3 } }), 3_000),
        (Format::Bedrock, json!({ "audio": { "source": s3 } }), 1_920),
        (Format::Bedrock, json!({ "video": { "source": s3 } }), 2_580),
        (Format::Bedrock, json!({ "image": { "source": { "bytes": "" } } }), 1_600),
    ] {
        assert_eq!(count(&exact(), format, &block), expected + 8, "{block}");
    }
}
