//! A model's family and limits, by its id.

use crate::support::cases;
use proptest::prelude::*;
use ullage::budget::Budget;
use ullage::policy::Policy;
use ullage::tokens::{
    CountTokens, Encoding, Exact, Family, KNOWN_LIMITS, ModelLimits, TextKind, by_beginning, counter_for_model,
    family_of_model, limits_of_model,
};

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
        ("gemini/something-new", Family::Gemini),
        ("projects/gemini-lab/locations/eu/publishers/anthropic/models/claude-opus-4@20250514", Family::Claude),
        ("google.gemma-3-27b-it", Family::Gemma),
        ("us.meta.llama3-3-70b-instruct-v1:0", Family::Llama3),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", Family::Llama3),
        ("accounts/fireworks/models/llama-v3p1-70b-instruct", Family::Llama3),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", Family::Llama3),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", Family::Qwen),
        ("openrouter/deepseek/deepseek-r1:free", Family::DeepSeek),
        ("deepseek.v3-v1:0", Family::DeepSeek),
        ("qwen.qwen3-coder-480b-a35b-v1:0", Family::Qwen),
        ("Qwen/Qwen2.5-72B-Instruct", Family::Qwen),
        ("moonshotai.kimi-k2.5", Family::Kimi),
        ("zai.glm-4.7", Family::Glm),
        ("minimax.minimax-m2.1", Family::MiniMax),
        ("mistral-small-latest", Family::Mistral),
        ("mistral.mixtral-8x7b-instruct-v0:1", Family::Unknown),
        ("llama-2-70b", Family::Unknown),
        ("azure/gpt-35-turbo", cl100k),
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

#[test]
fn a_scaled_count_is_the_exact_one_times_the_ratio_rounded_up() {
    let text = "fn main() { println!(\"a line of code, and some words\"); }\n".repeat(40);
    let exact = Exact::new(Encoding::O200kBase).count(&text, TextKind::ToolOutput);
    for (family, name, hundredths) in [
        (Family::Kimi, "kimi", 99),
        (Family::Llama3, "llama3", 100),
        (Family::Glm, "glm", 101),
        (Family::MiniMax, "minimax", 100),
        (Family::DeepSeek, "deepseek", 105),
        (Family::Qwen, "qwen", 108),
        (Family::Mistral, "mistral", 113),
        (Family::Gemma, "gemma", 121),
    ] {
        let counter = family.counter();
        assert_eq!(counter.name(), name);
        assert_eq!(counter.count(&text, TextKind::ToolOutput), (exact * hundredths).div_ceil(100));
        assert_eq!(counter.count("", TextKind::Prose), 0);
        assert_eq!(counter.overhead(), Exact::new(Encoding::O200kBase).overhead());
    }
}

#[test]
fn a_beginning_ends_with_a_word_and_its_separators_are_free() {
    let table = [("gpt-4", 1), ("gpt-4.1", 2), ("qwen-3", 3), ("qwen-3.5", 4), ("Acme", 5)];
    for (id, entry) in [
        ("gpt-4", Some(1)),
        ("gpt-4-1106-preview", Some(1)),
        ("gpt-4-1-mini", Some(2)),
        ("gpt41", Some(2)),
        ("gpt-4o", None),
        ("qwen3-5b", Some(3)),
        ("qwen3_5-27b", Some(4)),
        ("ACME@today", Some(5)),
        ("acme", Some(5)),
        ("acmé", None),
        ("acm", None),
    ] {
        assert_eq!(by_beginning(id, &table).copied(), entry, "{id}");
    }
    assert_eq!(by_beginning("anything", &[("", 1)]), None);
}

#[test]
fn the_limits_of_a_model_are_found_behind_every_gateway() {
    let sonnet = limits_of_model("claude-sonnet-4-5").expect("it is in the table");
    assert_eq!((sonnet.window, sonnet.max_output), (200_000, Some(64_000)));
    for id in [
        "anthropic/claude-sonnet-4-5-20250929",
        "anthropic/claude-sonnet-4.5",
        "openrouter/anthropic/claude-sonnet-4.5:beta",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "bedrock/converse/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "vertex_ai/claude-sonnet-4-5@20250929",
        "projects/p/locations/l/publishers/anthropic/models/claude-sonnet-4-5@20250929",
        "anthropic:claude-sonnet-4-5",
        "Claude-Sonnet-4-5",
    ] {
        assert_eq!(limits_of_model(id), Some(sonnet), "{id}");
    }
    for (id, window) in [
        ("claude-sonnet-4-6", 1_000_000),
        ("claude-opus-4-20250514", 200_000),
        ("models/gemini-2.5-flash", 1_048_576),
        ("gemini-2.5-flash-image", 32_768),
        ("ft:gpt-4o-mini-2024-07-18:org::id", 128_000),
        ("gpt-4-1106-preview", 128_000),
        ("gpt-4.1-nano", 1_047_576),
        ("azure/gpt-35-turbo", 16_385),
        ("openai.gpt-oss-120b-1:0", 131_072),
        ("us.amazon.nova-pro-v1:0", 300_000),
        ("meta.llama3-70b-instruct-v1:0", 8_192),
        ("meta.llama3-1-70b-instruct-v1:0", 128_000),
        ("us.meta.llama3-3-70b-instruct-v1:0", 128_000),
        ("meta-llama/Llama-3.3-70B-Instruct", 128_000),
        ("deepseek.v3.2", 128_000),
        ("mistral.mistral-large-2402-v1:0", 32_000),
        ("qwen.qwen3-coder-30b-a3b-v1:0", 262_144),
        ("xai/grok-4-1-fast-reasoning", 2_000_000),
        ("ai21.jamba-1-5-large-v1:0", 256_000),
        ("cohere.command-r-plus-v1:0", 128_000),
    ] {
        assert_eq!(limits_of_model(id).map(|limits| limits.window), Some(window), "{id}");
    }
    for id in ["", "/", "my-own-model", "o1ive", "gpt-4o1", "ollama/phi4"] {
        assert_eq!(limits_of_model(id), None, "{id}");
    }
}

#[test]
fn the_table_of_limits_is_sound() {
    let plain = |beginning: &str| beginning.replace(['-', '.'], "");
    let mut seen: Vec<String> = KNOWN_LIMITS.iter().map(|(beginning, _)| plain(beginning)).collect();
    seen.sort_unstable();
    assert!(seen.windows(2).all(|two| two[0] != two[1]), "two entries begin the same ids: {seen:?}");
    for &(beginning, limits) in KNOWN_LIMITS {
        assert_eq!(limits_of_model(beginning), Some(limits), "{beginning} is shadowed");
        assert_eq!(limits_of_model(&format!("gateway/{beginning}-2099-01-01")), Some(limits), "{beginning}");
        assert!((4_000..=10_000_000).contains(&limits.window), "{beginning}: {limits:?}");
        assert!((1..=limits.window).contains(&limits.max_input), "{beginning}: {limits:?}");
        assert!(limits.max_output.is_none_or(|most| (1..=limits.window).contains(&most)), "{beginning}: {limits:?}");
    }
}

/// A model with a known window has a known family.
#[test]
fn every_model_with_known_limits_has_a_family_or_is_known_to_have_none() {
    /// Their vocabularies are not public, or nothing was measured with them.
    const WITHOUT: [&str; 13] = [
        "c4ai",
        "codestral",
        "command",
        "grok",
        "jamba",
        "llama-2",
        "llama-4",
        "mistral-large",
        "mixtral",
        "moonshot",
        "nova",
        "open-mixtral",
        "voxtral",
    ];
    let unknown =
        KNOWN_LIMITS.iter().map(|(beginning, _)| *beginning).filter(|id| family_of_model(id) == Family::Unknown);
    let unknown: Vec<&str> = unknown.collect();
    let stray = unknown.iter().find(|id| !WITHOUT.iter().any(|without| id.starts_with(without)));
    assert_eq!(stray, None, "give it a family, or say that it has none");
    let idle = WITHOUT.iter().find(|without| !unknown.iter().any(|id| id.starts_with(**without)));
    assert_eq!(idle, None, "it has a family, or no limits");
}

#[test]
fn a_policy_for_any_model_leaves_what_the_model_takes_as_input() {
    let known = KNOWN_LIMITS.iter().map(|&(_, limits)| limits);
    for limits in known.chain([ModelLimits::UNKNOWN]) {
        let policy = Policy::for_limits(limits, None).checked().expect("the settings make sense together");
        let budget = Budget::of(&policy, 0, 0).expect("there is room");
        assert!(budget.limit <= limits.max_input, "{limits:?}: {budget:?}");
        assert!(budget.limit + policy.reserve_output <= limits.window, "{limits:?}: {budget:?}");
        assert!(budget.limit >= limits.max_input / 2, "{limits:?}: {budget:?}");
        assert!(policy.reserve_output <= Policy::default().reserve_output);
    }
    let gpt5 = limits_of_model("gpt-5").expect("it is in the table");
    let policy = Policy::for_limits(gpt5, None);
    let budget = Budget::of(&policy, 30_000, 0).expect("there is room");
    assert_eq!((policy.reserve_output, budget.limit), (8_000, 272_000 - 30_000));
    let longer = Policy::for_limits(gpt5, Some(64_000));
    assert_eq!(Budget::of(&longer, 0, 0).map(|budget| budget.limit), Ok(272_000));
    let small = Policy::for_limits(limits_of_model("gpt-4").expect("it is in the table"), None);
    assert_eq!((small.window, small.reserve_output), (8_192, 2_048));
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn any_text_is_looked_up_without_a_panic(id in ".*", beginning in ".*") {
        let _ = (limits_of_model(&id), family_of_model(&id));
        let table = [(beginning.as_str(), ())];
        let found = by_beginning(&id, &table);
        prop_assert!(found.is_none() || !beginning.is_empty());
    }

    #[test]
    fn an_id_begins_itself(id in "[a-z0-9]([a-z0-9.@_-]{0,20}[a-z0-9])?", gateway in "([a-z]{1,8}/){0,2}") {
        let table = [(id.as_str(), ())];
        for written in [format!("{gateway}{id}"), format!("{gateway}{}-v9", id.to_uppercase())] {
            prop_assert!(by_beginning(&written, &table).is_some(), "{}", written);
        }
    }

    #[test]
    fn a_scaled_counter_fits_exactly_what_it_counts(text in ".{0,200}", limit in 0_usize..120) {
        for family in [Family::Kimi, Family::Qwen, Family::Gemma] {
            let counter = family.counter();
            let count = counter.count(&text, TextKind::Prose);
            prop_assert_eq!(counter.fits(&text, TextKind::Prose, limit), count <= limit);
            prop_assert!(counter.fits(&text, TextKind::Prose, usize::MAX));
        }
    }
}
