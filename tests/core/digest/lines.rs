//! Of what goes, the lines most likely needed stay: as they were, with their numbers, in the room that there is.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;

use crate::support::check::strings;
use crate::support::{Block, Item, Message, Outcome, compact, engine, estimate, exact, fresh_count, is_long, render};
use serde_json::{Value, json};
use ullage::planner::Urgency;
use ullage::policy::{Policy, StageName};
use ullage::store::Storing;
use ullage::text::lines_of;
use ullage::tokens::{CountTokens, Encoding, Estimate, Exact};
use ullage::wire::Format;

/// Files of the session.
const FILES: usize = 9;

/// Lines of each.
const LINES: usize = 60;

/// Room for what must stay of any session here.
const LEAST: usize = 1_500;

/// A request made in between that must hold to the end.
const WISH: &str = "Whatever you do, keep the flag legacy_totals_77 as it is.";

fn path(file: usize) -> String {
    format!("/srv/shop/billing/part_{file}.py")
}

/// A file whose every third line only indents, or is blank.
fn source(file: usize) -> Vec<String> {
    let line = |line: usize| match line % 6 {
        0 => format!("def settle_{file}_{line}(amount, currency):"),
        1 => format!("    rate = rates_{file}.lookup_{line}(currency)"),
        2 => format!("    if amount > {}:", 1_000 + file * 97 + line),
        3 => format!("        raise LimitError('limit_{file}_{line} exceeded')"),
        4 => format!("    return amount * rate  # settled_{file}_{line}"),
        _ => String::new(),
    };
    (0..LINES).map(line).collect()
}

/// Lines as `cat -n` prints them, from `first` on.
fn numbered(lines: &[String], first: usize) -> String {
    lines.iter().enumerate().map(|(at, line)| format!("{:6}\t{line}\n", first + at)).collect()
}

/// A listing of commits, with something in every line.
fn log(turn: usize) -> Vec<String> {
    (0..30)
        .map(|line| format!("{:07x} merge branch fix_{turn}_{line} into main", turn * 7_919 + line * 104_729))
        .collect()
}

struct Session {
    messages: Vec<Message>,
    calls: usize,
}

impl Session {
    fn new(task: &str) -> Session {
        Session { messages: vec![Message::text("user", task)], calls: 0 }
    }

    fn call(&mut self, words: &str, tool: &str, input: Value, output: &str) {
        let id = format!("c{}", self.calls);
        self.calls += 1;
        let call = Block::Call { id: id.clone(), tool: tool.to_owned(), input };
        self.messages.push(Message::new("assistant", vec![Block::Text(words.to_owned()), call]));
        self.messages.push(Message::result(&id, output));
    }

    fn read(&mut self, file: usize, from: usize, lines: usize) {
        let text = numbered(&source(file)[from..from + lines], from + 1);
        let words = format!("I look at lines {} and on of part {file}.", from + 1);
        self.call(&words, "read_file", json!({ "file_path": path(file), "offset": from + 1 }), &text);
    }

    fn edit(&mut self, file: usize, line: usize) {
        let old = source(file)[line].clone();
        let input = json!({ "file_path": path(file), "old_string": old, "new_string": format!("{old}  # checked") });
        self.call("So this line is mended.", "edit_file", input, "The file was changed.");
    }

    fn list(&mut self, turn: usize) {
        let command = json!({ "command": format!("git log --oneline -30 --skip {}", turn * 30) });
        self.call("What was merged?", "bash", command, &log(turn).join("\n"));
    }

    fn say(&mut self, answer: &str, request: &str) {
        self.messages.push(Message::text("assistant", answer));
        self.messages.push(Message::text("user", request));
    }
}

/// A session of so many turns.
fn session(turns: usize) -> Session {
    let mut session = Session::new("Mend the rounding in all parts of the billing.");
    go_on(&mut session, 0..turns);
    session
}

fn go_on(session: &mut Session, turns: std::ops::Range<usize>) {
    for turn in turns {
        match turn % 5 {
            0 | 2 => session.read(turn % FILES, 0, LINES),
            1 => session.list(turn),
            3 => session.edit((turn - 1) % FILES, 6 * (turn % 7)),
            _ => session.read(turn % FILES, 12, 30),
        }
        if turn % 12 == 6 {
            session.say("That part is done.", if turn == 6 { WISH } else { "Good, go on with the next one." });
        }
    }
}

fn policy() -> Policy {
    Policy { window: 1_000_000, ..Policy::default() }
}

fn pressed(messages: &Value, share: usize, counter: &Arc<dyn CountTokens>) -> Outcome {
    let format = Format::Anthropic;
    let budget = (fresh_count(messages, format, counter) * share / 100).max(LEAST);
    compact(&engine(&policy(), counter, Storing::On), messages, format, budget, Urgency::Hard).unwrap()
}

/// A kept line: what its title says, its number where that is said, and itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Kept {
    title: String,
    number: usize,
    line: String,
}

/// Splits a body into the mark of its headings and the text behind its first line. An account may stand in front.
fn marked(body: &str) -> Option<(&str, &str)> {
    let (account, digest) = body.split_once("Lines from these messages. Only [")?;
    assert!(
        account.is_empty() || account.starts_with("Summary of these messages, written without a model:\n"),
        "{account}"
    );
    digest.split_once(" begins a heading:\n")
}

fn is_file(title: &str) -> bool {
    title.is_empty() || title.contains("part_")
}

/// The lines behind ullage's own marks: notes and, with no title, outputs that were cut.
fn kept(output: &Value) -> Vec<Kept> {
    let mut texts = Vec::new();
    strings(output, &mut texts);
    let mut kept = Vec::new();
    for text in texts.iter().filter(|text| text.starts_with("[ullage: ")) {
        let Some((mark, body)) = text.split_once('\n') else { continue };
        assert!(mark.ends_with(" characters follow]"), "{mark}");
        let (mut title, mut number) = ("", 0);
        if body.starts_with("What happened") && marked(body).is_none() {
            continue;
        }
        let (body, begins) = marked(body).map_or((body, None), |(mark, lines)| (lines, Some(format!("[{mark} "))));
        for line in body.lines() {
            if let Some(said) = begins.as_ref().and_then(|begins| line.strip_prefix(begins)) {
                let said = said.strip_suffix(']').unwrap();
                if said == "other lines, names only" {
                    break; // Of these is tests/digest_names.rs.
                }
                (title, number) = (said.strip_prefix("from ").unwrap_or(said), 0);
                continue;
            }
            let (told, content) = match line.split_once('\t') {
                Some((told, content)) if told.parse::<usize>().is_ok() => (told.parse().ok(), content),
                _ => (None, line),
            };
            number = told.unwrap_or(number + 1);
            // A text that is not a file and had no numbers gets none.
            assert!(
                told.is_some() || number > 1 || !is_file(title),
                "the first line of a run has its number: {line}\n{body}"
            );
            kept.push(Kept { title: title.to_owned(), number, line: content.to_owned() });
        }
    }
    kept
}

/// Everything that can be kept of a session: title, number and line.
fn keepable(session: &Session) -> HashSet<(String, usize, String)> {
    let mut lines = HashSet::new();
    let mut about: HashMap<String, (String, Option<usize>)> = HashMap::new();
    for message in &session.messages {
        for block in &message.blocks {
            match block {
                Block::Text(text) => {
                    let title = if message.role == "user" { "the user" } else { "the assistant" };
                    lines.insert((title.to_owned(), 1, text.clone()));
                }
                Block::Call { id, input, .. } => {
                    let told = |key: &str| input[key].as_str().map(str::to_owned);
                    let title = told("file_path").unwrap_or_else(|| format!("bash {}", told("command").unwrap()));
                    if let Some(new) = told("new_string") {
                        let short = title.rsplit('/').next().unwrap();
                        for title in [&*title, short] {
                            lines.insert((format!("{title}, as written"), 1, new.clone()));
                        }
                    }
                    let first = input["offset"].as_u64().map(|first| usize::try_from(first).unwrap());
                    about.insert(id.clone(), (title, first));
                }
                Block::Result { id, items } => {
                    let Item::Text(text) = &items[0] else { continue };
                    let (title, first) = &about[id];
                    for (at, line) in text.lines().enumerate() {
                        let line = if first.is_some() { line.split_once('\t').unwrap().1 } else { line };
                        // By its path at first, by its name afterwards; what was cut in its place has no title.
                        for title in [&**title, title.rsplit('/').next().unwrap(), ""] {
                            lines.insert((title.to_owned(), first.unwrap_or(1) + at, line.to_owned()));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    lines
}

fn assert_known(kept: &[Kept], session: &Session, when: &str) {
    let known = keepable(session);
    let unnumbered: HashSet<(&str, &str)> = known.iter().map(|(title, _, line)| (&**title, &**line)).collect();
    for Kept { title, number, line } in kept {
        let is_known = if is_file(title) {
            known.contains(&(title.clone(), *number, line.clone()))
        } else {
            unnumbered.contains(&(&**title, &**line))
        };
        assert!(is_known, "{when}: nowhere is line {number} of {title:?} {line:?}");
    }
}

#[test]
fn what_is_kept_are_lines_as_they_were_with_their_numbers() {
    let session = session(60);
    let input = render(&session.messages, Format::Anthropic);
    for share in [8, 12, 25, 50, 75] {
        let outcome = pressed(&input, share, &exact());
        let kept = kept(&outcome.output);
        assert!(kept.len() > 20, "{share} %: {} lines", kept.len());
        assert!(kept.iter().any(|line| line.number > 12), "numbers are those of the file");
        assert_known(&kept, &session, &format!("{share} %"));
    }
}

#[test]
fn what_was_condensed_is_condensed_again_with_its_numbers_and_titles() {
    for share in [20, 30, 60] {
        let mut session = session(40);
        let mut input = render(&session.messages, Format::Anthropic);
        let mut first = HashSet::new();
        for round in 0..4 {
            let outcome = pressed(&input, share, &exact());
            let kept = kept(&outcome.output);
            assert_known(&kept, &session, &format!("{share} %, compaction {round}"));
            if round == 0 {
                first.extend(kept.into_iter().filter(|kept| !kept.title.is_empty()).map(|kept| kept.line));
            } else if round == 1 {
                let mut texts = Vec::new();
                strings(&outcome.output, &mut texts);
                let both = first.iter().filter(|line| texts.iter().any(|text| text.contains(&**line))).count();
                assert!(both > 3, "{share} %: {both} lines of the older note are still there");
            }
            let before = session.messages.len();
            go_on(&mut session, 40 + 10 * round..50 + 10 * round);
            let more = render(&session.messages[before..], Format::Anthropic);
            input = outcome.output;
            input.as_array_mut().unwrap().extend(more.as_array().unwrap().iter().cloned());
        }
    }
}

fn counters() -> Vec<Arc<dyn CountTokens>> {
    let encodings = [Encoding::O200kBase, Encoding::Cl100kBase].map(Exact::new);
    let exact = encodings.into_iter().map(|exact| Arc::new(exact) as Arc<dyn CountTokens>);
    exact.chain([estimate(), Arc::new(Estimate::ratio(3.1).unwrap())]).collect()
}

#[test]
fn no_counter_finds_more_than_the_budget_and_little_of_it_is_left() {
    let input = render(&session(60).messages, Format::Anthropic);
    for counter in counters() {
        for share in (5..=100).step_by(if is_long() { 5 } else { 19 }) {
            let outcome = pressed(&input, share, &counter);
            let plan = &outcome.plan;
            let counted = fresh_count(&outcome.output, Format::Anthropic, &counter);
            assert_eq!(counted, plan.tokens_after);
            assert!(counted <= plan.budget.limit);
            let uses_it = counted * 100 >= plan.budget.limit * 90;
            assert!(uses_it || plan.edits.is_empty(), "{share} %: {counted} of {}", plan.budget.limit);
        }
    }
}

#[test]
fn a_larger_budget_keeps_no_less_but_for_what_may_stay_unused() {
    let input = render(&session(60).messages, Format::Anthropic);
    let mut last = 0;
    for share in (5..=100).step_by(if is_long() { 1 } else { 5 }) {
        let plan = pressed(&input, share, &exact()).plan;
        let unused = plan.budget.limit * 3 / 100;
        assert!(plan.tokens_after + unused > last, "{share} %: {} after {last}", plan.tokens_after);
        last = plan.tokens_after;
    }
}

#[test]
fn every_format_keeps_the_same_and_so_does_every_engine() {
    let messages = session(40).messages;
    for share in [10, 35, 70] {
        let budget = fresh_count(&render(&messages, Format::Anthropic), Format::Anthropic, &exact()) * share / 100;
        let plan = |format: Format| {
            let engine = engine(&policy(), &exact(), Storing::On);
            compact(&engine, &render(&messages, format), format, budget, Urgency::Hard).unwrap().plan
        };
        let first = plan(Format::Anthropic);
        assert_eq!(first.edits, plan(Format::Anthropic).edits);
        for format in Format::ALL {
            assert_eq!(plan(format).edits, first.edits, "{}", format.name());
        }
    }
}

/// True if a line is in the eighth that a policy leaves.
fn is_left(messages: &[Message], policy: &Policy, line: &str) -> bool {
    let input = render(messages, Format::Anthropic);
    let budget = fresh_count(&input, Format::Anthropic, &exact()) * 18 / 100;
    let engine = engine(policy, &exact(), Storing::On);
    let outcome = compact(&engine, &input, Format::Anthropic, budget, Urgency::Hard).unwrap();
    let mut texts = Vec::new();
    strings(&outcome.output, &mut texts);
    texts.iter().any(|text| text.contains(line))
}

#[test]
fn an_old_name_that_is_used_again_is_kept_where_heads_and_tails_lose_it() {
    let mut session = Session::new("Mend the rounding in all parts of the billing.");
    let mut lines = log(0);
    let needed = "8f3a2b1 set ledger_epoch_offset to 86413 for the branch in Oslo";
    lines.insert(lines.len() / 2, needed.to_owned());
    session.call("What was merged?", "bash", json!({ "command": "git log --oneline" }), &lines.join("\n"));
    go_on(&mut session, 1..60);
    session.say("It must be about ledger_epoch_offset then.", "Yes, look into that again.");
    go_on(&mut session, 60..62);
    session.say("I see.", "And now?");
    assert!(is_left(&session.messages, &policy(), needed));
    let plain = vec![StageName::Offload, StageName::Compress, StageName::Window];
    assert!(!is_left(&session.messages, &Policy { stages: plain, ..policy() }, needed));
    assert!(!is_left(&session.messages, &Policy { stages: vec![StageName::Window], ..policy() }, needed));
}

#[test]
fn lines_around_edits_and_what_was_read_last_stay_whole() {
    let mut session = Session::new("Mend the rounding in all parts of the billing.");
    go_on(&mut session, 0..20);
    let (edited, line) = (FILES, 25);
    session.read(edited, 0, LINES);
    session.edit(edited, line);
    for turn in 20..30 {
        session.list(turn);
    }
    let recent = FILES + 1;
    session.read(recent, 20, 12);
    session.list(30);
    session.say("Both parts are understood.", "Then go on.");
    let policy = Policy { keep_recent: 2, ..policy() };
    let near = line - 2..line + 3;
    for line in near.map(|line| source(edited)[line].clone()).chain(source(recent)[20..32].to_vec()) {
        // A line that was replaced stands there no more.
        let replaced = line == source(edited)[25];
        assert!(replaced || is_left(&session.messages, &policy, &line), "{line:?} is gone");
    }
}

/// In talk between people, new words are kept before repetitions.
#[test]
fn in_talk_what_is_said_once_is_kept_before_pleasantries() {
    let places = ["Lisbon", "Tromso", "Kyoto", "Quito", "Dakar", "Perth", "Riga", "Cusco", "Malta", "Hanoi"];
    let people = ["Miriam", "Anselm", "Farouk", "Ingrid", "Teodor", "Wanda", "Xaver"];
    let mut messages = vec![Message::text("user", "Hello again, how are you?")];
    let mut told = Vec::new();
    for turn in 0..70 {
        if turn % 7 == 3 {
            let person = people[turn / 7 % people.len()];
            told.push(format!("{person}{turn} moved to {} in 19{turn} with a sailing boat", places[turn / 7]));
            messages.push(Message::text("assistant", told.last().unwrap()));
        } else {
            let text =
                "That sounds really lovely, thank you so much, please tell me more about how things are going there.";
            messages.push(Message::text("assistant", text));
        }
        messages.push(Message::text(
            "user",
            "Oh I see, that is great to hear, and what else has been happening with you lately?",
        ));
    }
    let outcome = pressed(&render(&messages, Format::Anthropic), 25, &exact());
    let text = outcome.output.to_string();
    for line in told {
        assert!(text.contains(&line), "{line:?} is gone");
    }
}

/// A failure, and a line about what was asked, are worth more than a hundred lines that differ in their numbers only.
#[test]
fn the_one_line_that_tells_something_stays_of_a_log() {
    for (request, line) in [
        ("Look through the logs.", "2026-11-23 21:15:07 ERROR card reader did not answer"),
        ("Why was payment 4711 refused?", "2026-11-23 21:15:07 INFO payment 4711 refused by the card reader"),
    ] {
        let mut messages = vec![Message::text("user", request)];
        for file in 0..12 {
            let entry = |at: usize| format!("2026-11-23 {file:02}:{at:02}:07 INFO cart {} paid", file * 997 + at);
            let mut log: Vec<String> = (0..120).map(entry).collect();
            if file == 3 {
                log.insert(60, line.to_owned());
            }
            let id = format!("r-{file}");
            messages.extend([Message::call(&id, "read"), Message::result(&id, &log.join("\n"))]);
        }
        let left = render(&messages, Format::Anthropic);
        let left =
            compact(&engine(&Policy::default(), &exact(), Storing::On), &left, Format::Anthropic, 6_000, Urgency::Soft);
        let left = left.expect("it fits").output.to_string();
        assert!(left.contains(line), "{request}");
    }
}

#[test]
fn what_the_user_asked_for_is_kept() {
    let session = session(80);
    for share in [8, 15, 30] {
        let outcome = pressed(&render(&session.messages, Format::Anthropic), share, &exact());
        assert!(outcome.output.to_string().contains(WISH), "{share} %");
        assert!(outcome.plan.removals().any(|range| range.len() > 20), "it was among what went");
    }
}

#[test]
fn a_slice_of_a_long_line_is_a_part_of_the_line_with_that_number() {
    let line = |line: usize| match line % 4 {
        0 => (0..150).map(|word| format!("w{line}_{word}, ")).collect::<String>().trim_end().to_owned(),
        1 => format!("key_{line}={}", "z".repeat(1_500)),
        _ => format!("short_{line}"),
    };
    let lines: Vec<String> = (0..24).map(line).collect();
    for text in [lines.join("\n"), numbered(&lines, 1)] {
        let mut session = Session::new("Have a look.");
        session.call("First this.", "read_file", json!({ "file_path": "/srv/long.txt" }), &text);
        session.say("I see.", "And what of w8_20 and w20_140?");
        let mut input = render(&session.messages, Format::Anthropic);
        for share in [60, 60, 60] {
            let outcome = pressed(&input, share, &exact());
            let kept = kept(&outcome.output);
            assert!(kept.iter().any(|kept| kept.line.contains("w8_20")));
            assert!(kept.iter().any(|kept| kept.line.len() > 200), "slices in a row are one line");
            for kept in kept.iter().filter(|kept| kept.title.is_empty() || kept.title.contains("long.txt")) {
                assert!(lines[kept.number - 1].contains(&kept.line), "{kept:?}");
            }
            input = outcome.output;
        }
    }
}

#[test]
fn matches_of_a_search_keep_their_own_numbers() {
    let found = |index: usize| format!("{}:    total_{index} = add(total_{index}, rate)", 7 + index * 13);
    let text: String = (0..80).map(|index| found(index) + "\n").collect();
    let mut session = Session::new("Have a look.");
    session.call("Where?", "grep", json!({ "pattern": "total", "path": "/srv/shop" }), &text);
    go_on(&mut session, 0..6);
    session.say("I see.", "And what of total_30?");
    let outcome = pressed(&render(&session.messages, Format::Anthropic), 60, &exact());
    let matches: Vec<Kept> = kept(&outcome.output).into_iter().filter(|kept| kept.title.contains("grep")).collect();
    assert!(matches.len() > 3, "{matches:?}");
    for Kept { number, line, .. } in matches {
        assert_eq!(format!("{number}:{line}"), found((number - 7) / 13));
    }
}

/// Outputs of every unpleasant kind.
fn unpleasant() -> Vec<(&'static str, String)> {
    let many = |lines: usize| {
        (0..lines).fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "item_{line} of the list is {}", line * 31);
            text
        })
    };
    vec![
        ("one line", "x".repeat(100_000)),
        ("one line of words", "word_1, other; ".repeat(7_000)),
        ("one line of no ASCII", "東京都の天気".repeat(6_000)),
        ("many lines", many(10_000)),
        ("blank lines", "\n".repeat(10_000)),
        ("lines of spaces", "   \r\n".repeat(10_000)),
        ("CRLF", many(5_000).replace('\n', "\r\n")),
        ("CR", many(5_000).replace('\n', "\r")),
        ("NUL", many(5_000).replace('i', "\0")),
        ("broken", "\u{fffd}\u{feff}\u{202e}\u{2028} e\u{301}\n".repeat(5_000)),
        ("titles", "[from somewhere]\n12→what\n[ullage: 3 earlier messages]\n".repeat(5_000)),
        ("numbers", "1→\n2→\n9999999→x\n99999999→y\n0→z\n".repeat(5_000)),
        ("one number", "4294967296\t".repeat(5_000)),
        ("nothing", String::new()),
    ]
}

#[test]
fn no_output_is_too_unpleasant() {
    for (kind, text) in unpleasant() {
        let counters = [estimate(), exact()];
        for counter in &counters[..if is_long() { 2 } else { 1 }] {
            let mut session = Session::new("Have a look.");
            session.call("First this.", "bash", json!({ "command": "cat it" }), &text);
            session.call("Then as a file.", "read_file", json!({ "path": "/srv/it" }), &text);
            go_on(&mut session, 0..6);
            session.say("I see.", "And now?");
            let mut input = render(&session.messages, Format::Anthropic);
            for share in [60, 30, 30] {
                let outcome = pressed(&input, share, counter);
                let counted = fresh_count(&outcome.output, Format::Anthropic, counter);
                assert_eq!(counted, outcome.plan.tokens_after, "{kind}");
                assert!(counted <= outcome.plan.budget.limit, "{kind}");
                input = outcome.output;
            }
        }
    }
}

#[test]
fn planning_takes_time_in_proportion_to_the_lines() {
    // A quadratic step would take many minutes.
    let text: String = (0..300_000).map(|line| format!("item_{line} of the list is {}\n", line * 31)).collect();
    let mut session = Session::new("Have a look.");
    session.call("First this.", "bash", json!({ "command": "cat it" }), &text);
    session.say("I see.", "And now?");
    let outcome = pressed(&render(&session.messages, Format::Anthropic), 30, &estimate());
    assert!(outcome.plan.tokens_after <= outcome.plan.budget.limit);
}

#[test]
fn lines_are_those_of_the_standard_library() {
    for text in ["", "\n", "a", "a\n", "a\n\nb", "\r\n\u{e9}\n", "a\r\nb\n\n"] {
        assert!(lines_of(text).eq(text.split_inclusive('\n')), "{text:?}");
    }
}
