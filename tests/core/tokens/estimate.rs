//! The estimate: what it counts, and that no kind of text is far off.

use crate::support::cases;
use proptest::prelude::*;
use ullage::tokens::{CountTokens, Encoding, Estimate, Exact, TextKind};

#[test]
fn an_estimate_rounds_up_and_counts_characters_not_bytes() {
    let estimate = Estimate::ratio(4.0).unwrap();
    for (text, tokens) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("éééé", 1), ("😀😀😀😀", 1)] {
        assert_eq!(estimate.count(text, TextKind::Prose), tokens, "{text:?}");
    }
    for none in [0.0, -1.0, 0.09, 1_001.0, f64::NAN, f64::INFINITY] {
        assert!(Estimate::ratio(none).is_err(), "{none}");
    }
}

#[test]
fn what_kind_a_text_is_does_not_matter_to_the_estimate_but_an_id_is_in_the_frame() {
    let claude = Estimate::claude();
    let text = "fn main() { println!(\"{}\", 1 + 1); } // 12:30:05 ERROR [worker-3] took 17.25 ms\n".repeat(50);
    let tokens = claude.count(&text, TextKind::Prose);
    assert_eq!(claude.count(&text, TextKind::Json), tokens);
    assert_eq!(claude.count(&text, TextKind::ToolOutput), tokens);
    assert_eq!(claude.count("toolu_01A09q90qw90lq917835lq9", TextKind::Identifier), 0);
    assert!(claude.overhead().call > claude.overhead().block);
    assert_eq!(claude.name(), "claude");
}

/// The fit was made against 1.28 times `o200k_base` where no provider reported anything; no kind of text may be off by
/// half, the ones that a vocabulary treats worst among them.
#[test]
fn no_kind_of_text_is_estimated_at_half_or_at_twice() {
    let exact = Exact::new(Encoding::O200kBase);
    let noise = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let pick =
        |n: u64, from: &str| from.chars().nth(usize::try_from(noise(n)).unwrap() % from.chars().count()).unwrap();
    let random = |length: u64, from: &str| (0..length).map(|n| pick(n, from)).collect::<String>();
    let lower = "abcdefghijklmnopqrstuvwxyz";
    let base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let texts = [
        (
            "English",
            "The store keeps what leaves the conversation, so that every reference in it can be followed. ".repeat(40),
        ),
        (
            "German",
            "Die Größe des Fensters bestimmt, wie viele Nachrichten übrig bleiben, wenn es voll wird. ".repeat(40),
        ),
        ("Russian", "Размер окна определяет, сколько сообщений останется после сжатия истории разговора. ".repeat(40)),
        ("Chinese", "上下文窗口的大小决定了压缩之后还剩下多少条消息,工具的输出占了大部分。".repeat(40)),
        ("Japanese", "文脈の大きさは、会話を圧縮したあとに残るメッセージの数を決めます。".repeat(40)),
        ("Korean", "컨텍스트 창의 크기는 대화를 압축한 뒤 남는 메시지의 수를 결정합니다. ".repeat(40)),
        ("Arabic", "يحدد حجم النافذة عدد الرسائل المتبقية بعد ضغط المحادثة. ".repeat(40)),
        ("Hindi", "विंडो का आकार तय करता है कि बातचीत के बाद कितने संदेश बचेंगे। ".repeat(40)),
        ("code", "    let total = messages.iter().map(|message| message.tokens()).sum::<usize>();\n".repeat(40)),
        (
            "log",
            (0..80)
                .map(|n| {
                    format!(
                        "2026-05-0{}T10:{}:07.{}Z INFO [worker-{n}] took {}ms\n",
                        n % 9,
                        n % 50 + 10,
                        noise(n) % 900,
                        noise(n) % 77
                    )
                })
                .collect(),
        ),
        (
            "records",
            (0..80).map(|n| format!("{{\"id\":{},\"name\":\"user-{n}\",\"active\":true}},", noise(n))).collect(),
        ),
        ("numbers", (0..200).map(|n| format!("{}.{},", noise(n) % 1000, noise(n + 7) % 10000)).collect()),
        (
            "listing",
            (0..80)
                .map(|n| {
                    format!("-rw-r--r-- 1 root root {:>8} May {:>2} 10:30 file_{n}.rs\n", noise(n) % 99999, n % 30)
                })
                .collect(),
        ),
        ("base64", random(6_000, base64)),
        ("hex", random(6_000, "0123456789abcdef")),
        ("random words", random(6_000, &format!("{lower}{lower}        "))),
        ("a drawn line", "=".repeat(5_000)),
        ("one letter", "a".repeat(5_000)),
        ("spaces", " ".repeat(5_000)),
        ("emoji", "😀🎉🚀🔥 ok ".repeat(300)),
    ];
    for (name, text) in texts {
        let claude = exact.count(&text, TextKind::Prose) as f64 * 1.28;
        let ratio = Estimate::claude().count(&text, TextKind::Prose) as f64 / claude;
        assert!(ratio > 0.5 && ratio < 2.0, "{name}: {ratio:.2} of what is expected");
    }
}

/// Neither was fitted on.
#[test]
fn prose_and_random_letters_are_near_to_what_they_are_compared_with() {
    let mut state = 1_u64;
    let mut letter = || {
        // Knuth's linear congruential generator, of whose numbers the upper bits are the better ones.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + u8::try_from((state >> 33) % 26).unwrap())
    };
    let letters: String = (0..20_000).map(|_| letter()).collect();
    let prose = [include_str!("../../../docs/policies.md"), include_str!("../../../CONTRIBUTING.md")].concat();
    for text in [letters, prose] {
        let expected = Exact::new(Encoding::O200kBase).count(&text, TextKind::Prose) as f64 * 1.28;
        let ratio = Estimate::claude().count(&text, TextKind::Prose) as f64 / expected;
        assert!((0.85..1.15).contains(&ratio), "{ratio:.2} of what is expected for {text:.40}");
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn a_text_fits_exactly_where_its_estimate_does(text in "\\PC{0,300}|[ -~\n]{0,400}|(=|a| ){60,200}") {
        let claude = Estimate::claude();
        let tokens = claude.count(&text, TextKind::Prose);
        prop_assert_eq!(tokens == 0, text.is_empty());
        for limit in [0, tokens.saturating_sub(1), tokens, tokens + 1, usize::MAX] {
            prop_assert_eq!(claude.fits(&text, TextKind::Prose, limit), tokens <= limit);
        }
    }
}
