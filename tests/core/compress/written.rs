//! Text that a person wrote: a paste is cut by its content type, the words around it stay, and long prose loses its middle.

use crate::support::{cases, exact};
use proptest::prelude::*;
use ullage::compress::condense;
use ullage::tokens::TextKind;

fn tokens(text: &str) -> usize {
    exact().count(text, TextKind::Prose)
}

fn lines(line: impl Fn(usize) -> String) -> String {
    (0..400).map(|n| line(n) + "\n").collect()
}

fn pastes() -> Vec<(&'static str, String)> {
    vec![
        ("log", lines(|n| format!("2026-11-23T10:00:{n:02}Z INFO worker={n} queue=main took {}ms", n * 3))),
        ("code", lines(|n| format!("    if (value_{n} > {n}) {{ return table[{n}]; }}"))),
        ("table", lines(|n| format!("| {n} | host-{n} | {} |", n * 17))),
        ("quote", lines(|n| format!("> the colleague said this in line {n}"))),
        ("fence", format!("```text\n{}```\n", lines(|n| format!("All is well in line {n}.")))),
        ("tag", format!("<report>\n{}</report>\n", lines(|n| format!("All is well in line {n}.")))),
        ("one line", format!("{{{}}}\n", (0..2_000).map(|n| format!("\"k{n}\":{n},")).collect::<String>())),
    ]
}

#[test]
fn the_words_around_a_paste_stay() {
    let (before, after) = ("The job has failed since Monday.", "Do not restart it. Which step is to blame?");
    for (kind, paste) in pastes() {
        let text = format!("{before}\n\n{paste}\n{after}");
        for keep in [60, 200, 1_000] {
            let short = condense(&text, keep, &*exact()).unwrap_or_else(|| panic!("{kind}: it is longer than {keep}"));
            assert!(tokens(&short) <= keep, "{kind}: {} of {keep}", tokens(&short));
            assert!(short.contains(before) && short.ends_with(after), "{kind} at {keep}: {short}");
        }
    }
}

#[test]
fn of_long_prose_the_middle_goes_and_instructions_stay() {
    let middle = |n: usize| format!("The weather in town {n} was fine that day and nothing else happened there. ");
    let story = |from: usize| (from..from + 150).map(middle).collect::<String>();
    let text = format!(
        "Here is my story. {}Please keep the names of all towns. {}What do you make of it?",
        story(0),
        story(150)
    );
    let short = condense(&text, 120, &*exact()).expect("it is long");
    for kept in
        ["Here is my story.", "Please keep the names of all towns.", "What do you make of it?", "characters left out"]
    {
        assert!(short.contains(kept), "{kept}: {short}");
    }
    assert!(!short.contains("town 75 "), "{short}");
}

#[test]
fn what_is_kept_of_prose_fills_its_room() {
    let text: String = (0..200).map(|n| format!("In room {n} there were {} chairs. ", n * 7)).collect();
    for keep in [100, 300, 900] {
        let kept = tokens(&condense(&text, keep, &*exact()).expect("it is long"));
        assert!((keep * 4 / 5..=keep).contains(&kept), "{kept} of {keep}");
    }
}

#[test]
fn a_text_in_which_every_letter_is_a_token_becomes_shorter_too() {
    let text = "|a  a|>\n><<a\na\n|<\n> <a<o\na<|>a\n>e. a.>|>\na\n|a`|>a..><<a\n>c\na/ae\n`a\n .<a>c >? ?<.a/ae|.  a\na\na\na|\n/<  <.>a";
    let short = condense(text, 78, &*exact()).unwrap();
    assert!(tokens(&short) <= 78 && short.len() < text.len(), "{short}");
}

#[test]
fn what_fits_is_left_alone() {
    assert_eq!(condense("Fix it.", 10, &*exact()), None);
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn any_text_comes_out_shorter_and_fits(text in "(?s).{0,3000}|([a-z `<>/|\\n?.]{0,12}){0,300}", keep in 30_usize..300) {
        match condense(&text, keep, &*exact()) {
            Some(short) => prop_assert!(tokens(&short) <= keep && short.len() < text.len()),
            None => prop_assert!(tokens(&text) <= keep, "{} tokens, {keep} wanted", tokens(&text)),
        }
    }
}
