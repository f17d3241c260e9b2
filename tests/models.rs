//! The estimate, and the family of a model by its id.

use ullage::tokens::{CountTokens, Encoding, Estimate, Family, TextKind, counter_for_model, family_of_model};

#[test]
fn an_estimate_rounds_up_and_counts_characters_not_bytes() {
    let estimate = Estimate::with_ratio("plain", 400);
    for (text, tokens) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("éééé", 1), ("😀😀😀😀", 1)] {
        assert_eq!(estimate.count(text, TextKind::Prose), tokens, "{text:?}");
    }
    assert_eq!(Estimate::with_ratio("zero", 0).count("ab", TextKind::Json), 200);
}

#[test]
fn claude_has_a_ratio_for_each_kind_of_text() {
    let claude = Estimate::claude();
    let text = "x".repeat(100_000);
    assert_eq!(claude.count(&text, TextKind::Prose), 24_631);
    assert_eq!(claude.count(&text, TextKind::Json), 30_865);
    assert_eq!(claude.count(&text, TextKind::ToolOutput), 34_723);
    assert_eq!(claude.overhead().block, 31);
    assert_eq!(claude.name(), "claude");
}

#[test]
fn the_longest_beginning_of_a_model_id_wins() {
    let o200k = Family::OpenAi(Encoding::O200kBase);
    let cl100k = Family::OpenAi(Encoding::Cl100kBase);
    let table = [
        ("gpt-4o", o200k),
        ("openai/gpt-4o-mini-2024-07-18", o200k),
        ("gpt-4.1-nano", o200k),
        ("GPT-5.1", o200k),
        ("azure/o3-mini", o200k),
        ("ft:gpt-3.5-turbo-0125:org::id", cl100k),
        ("gpt-4", cl100k),
        ("gpt-4-0613", cl100k),
        ("gpt-4-turbo-2024-04-09", cl100k),
        ("claude-sonnet-4-5-20250929", Family::Claude),
        ("anthropic/claude-opus-4-1", Family::Claude),
        ("bedrock/us.anthropic.claude-3-5-sonnet-20241022-v2:0", Family::Claude),
        ("models/gemini-2.5-pro", Family::Gemini),
        ("llama-3.3-70b", Family::Unknown),
        ("o1ive", Family::Unknown),
        ("", Family::Unknown),
    ];
    for (id, family) in table {
        assert_eq!(family_of_model(id), family, "{id}");
    }
}

#[test]
fn a_model_whose_encoding_is_public_is_counted_exactly() {
    for (id, name) in [
        ("gpt-4o", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("us.anthropic.claude-sonnet-4", "claude"),
        ("gemini-2.5-flash", "gemini"),
        ("something-else", "unknown"),
    ] {
        assert_eq!(counter_for_model(id).name(), name);
    }
}
