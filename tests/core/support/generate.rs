//! Strategies for conversations, policies and rooms.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::planner::Urgency;
use ullage::policy::{Policy, StageName};
use ullage::store::Storing;
use ullage::tokens::CountTokens;

use super::{Block, Item, Message, estimate, exact, small_policy, undigested};

const TOOLS: [&str; 5] = ["read_file", "bash", "Web.Search", "工具", "mcp__server__list_all_the_things_there_are"];

/// A text of about `size` characters, unlike every other by its `seed`.
fn make_text(kind: u8, size: usize, seed: u32) -> String {
    let repeated = |unit: &str| unit.repeat(size / unit.chars().count() + 1);
    match kind {
        0 => (0..=size / 24).map(|line| format!("{seed} line {line}: all is well\n")).collect(),
        1 => format!("{seed} {}", repeated("one long line, no end; ")),
        2 => format!("{seed}{}", repeated("東京都の天気は晴れ。")),
        3 => format!("<|endoftext|>{seed}{}", repeated("<|im_start|>user<|fim_prefix|>")),
        4 => format!("\n\n{seed}{}", repeated("\n")),
        5 => format!("{seed} {}", repeated("👨\u{200d}👩\u{200d}👧 e\u{301} ")),
        6 => format!("{seed}\r\n{}", repeated("a\tb  \r\n")),
        7 => format!("[ullage: {seed} is not a mark of ours]\n{}", repeated("[... 12 characters left out ...]\n")),
        _ => format!("ok {seed}"),
    }
}

/// A text of at most about `most` characters.
pub fn text(most: usize) -> impl Strategy<Value = String> {
    (0_u8..14, 0..most, any::<u32>()).prop_map(|(kind, size, seed)| make_text(kind, size, seed))
}

fn json_value(most: usize) -> impl Strategy<Value = Value> {
    (vec((text(most / 8), any::<i32>()), 0..8), any::<u32>()).prop_map(|(rows, seed)| {
        let rows: Vec<Value> = rows.into_iter().map(|(name, size)| json!({ "name": name, "size": size })).collect();
        json!({ "seed": seed, "rows": rows })
    })
}

/// The content that a conversation may have.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub turns: usize,
    pub output: usize,
    pub items: Items,
    /// Messages of one role in a row, which Bedrock refuses.
    pub irregular: bool,
}

/// The items that results are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Items {
    /// Texts, values and images, or nothing.
    Any,
    /// One text, which every format can say.
    OneText,
}

pub const ANY: Shape = Shape { turns: 5, output: 3_000, items: Items::Any, irregular: true };
/// The shape that every format can express.
pub const COMMON: Shape = Shape { items: Items::OneText, ..ANY };

fn items(shape: Shape) -> BoxedStrategy<Vec<Item>> {
    let texts = text(shape.output).prop_map(Item::Text);
    if shape.items == Items::OneText {
        return texts.prop_map(|text| vec![text]).boxed();
    }
    vec(prop_oneof![6 => texts, 2 => json_value(shape.output).prop_map(Item::Json), 1 => Just(Item::Image)], 0..3)
        .boxed()
}

fn thinking() -> impl Strategy<Value = Option<Block>> {
    prop_oneof![
        4 => Just(None),
        2 => text(200).prop_map(|text| Some(Block::Thinking { text, signed: true })),
        1 => text(200).prop_map(|text| Some(Block::Thinking { text, signed: false })),
    ]
}

fn pinned_and_cached() -> impl Strategy<Value = (bool, bool)> {
    (prop::bool::weighted(0.07), prop::bool::weighted(0.1))
}

/// The content that makes one message out of two in a row, if there is any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Apart {
    Nothing,
    /// Words in front of the calls.
    Words,
    /// The first of the results.
    Results,
    /// Words of the user behind the results.
    Aside,
}

fn apart(shape: Shape) -> BoxedStrategy<Apart> {
    if !shape.irregular {
        return Just(Apart::Nothing).boxed();
    }
    prop_oneof![9 => Just(Apart::Nothing), 1 => Just(Apart::Words), 1 => Just(Apart::Results), 1 => Just(Apart::Aside)]
        .boxed()
}

type Round = (Vec<Block>, Vec<(usize, Vec<Item>)>, (bool, bool), (bool, bool), Apart);

/// A round of a tool loop: thinking and words in either order, parallel calls, and their results.
fn round(shape: Shape) -> impl Strategy<Value = Round> {
    let said = (thinking(), prop::option::of(text(80)), prop::bool::weighted(0.2));
    (
        said.prop_map(|(thinking, words, words_first)| {
            let mut said: Vec<Block> = thinking.into_iter().chain(words.map(Block::Text)).collect();
            if words_first {
                said.reverse();
            }
            said
        }),
        vec((0..TOOLS.len(), items(shape)), 1..4),
        pinned_and_cached(),
        pinned_and_cached(),
        apart(shape),
    )
}

#[derive(Debug, Clone)]
struct Turn {
    system: Option<String>,
    request: Vec<Block>,
    again: Option<String>,
    rounds: Vec<Round>,
    answer: Vec<Block>,
    /// Said behind the answer, in a message of its own.
    more: Option<String>,
    flags: (bool, bool),
}

fn turn(shape: Shape) -> impl Strategy<Value = Turn> {
    let extra = prop_oneof![8 => Just(None), 1 => Just(Some(Block::Image)), 1 => text(60).prop_map(|t| Some(Block::Unknown(t)))];
    let sometimes =
        || if shape.irregular { prop::option::weighted(0.15, text(60)).boxed() } else { Just(None).boxed() };
    (
        (text(300), extra, sometimes(), sometimes()),
        vec(round(shape), 0..3),
        (thinking(), text(400)),
        pinned_and_cached(),
        prop::option::weighted(0.3, text(100)),
    )
        .prop_map(|((request, extra, again, more), rounds, (thinking, answer), flags, system)| Turn {
            system,
            request: std::iter::once(Block::Text(request)).chain(extra).collect(),
            again,
            rounds,
            answer: thinking.into_iter().chain([Block::Text(answer)]).collect(),
            more,
            flags,
        })
}

/// A conversation that a provider takes (but for roles, where it is `irregular`). The ids of its calls begin with `name`.
pub fn conversation(shape: Shape, name: &'static str) -> impl Strategy<Value = Vec<Message>> {
    (vec(turn(shape), 1..=shape.turns), prop::bool::weighted(0.2)).prop_map(move |(turns, stored)| {
        let messages = flatten(turns, name).into_iter();
        messages.map(|message| Message { stored: stored && message.role == "assistant", ..message }).collect()
    })
}

fn flatten(turns: Vec<Turn>, name: &str) -> Vec<Message> {
    let mut out = Vec::new();
    let mut calls = 0;
    for turn in turns {
        if let (true, Some(system)) = (out.is_empty(), &turn.system) {
            out.push(Message::text("system", system));
        }
        let (pinned, cached) = turn.flags;
        out.push(Message { pinned, cached, ..Message::new("user", turn.request) });
        out.extend(turn.again.iter().map(|text| Message::text("user", text)));
        for (mut asked, tools, call_flags, result_flags, apart) in turn.rounds {
            let mut results = Vec::new();
            let said = asked.len();
            for (tool, items) in tools {
                calls += 1;
                let id = format!("{name}-{calls}");
                let input = json!({ "n": calls, "path": "/etc/hosts" });
                asked.push(Block::Call { id: id.clone(), tool: TOOLS[tool].to_owned(), input });
                results.push(Block::Result { id, items });
            }
            let message = |role, blocks, (pinned, cached)| Message { pinned, cached, ..Message::new(role, blocks) };
            let (asked, results) = (message("assistant", asked, call_flags), message("user", results, result_flags));
            out.extend(split(asked, if apart == Apart::Words { said } else { 0 }));
            out.extend(split(results, usize::from(apart == Apart::Results)));
            if apart == Apart::Aside {
                out.push(Message::text("user", "And mind the tests."));
            }
        }
        out.push(Message::new("assistant", turn.answer));
        out.extend(turn.more.iter().map(|text| Message::text("assistant", text)));
    }
    out
}

/// A message as two, the first of so many blocks; as one where either would be empty.
fn split(message: Message, at: usize) -> Vec<Message> {
    if at == 0 || at >= message.blocks.len() {
        return vec![message];
    }
    let mut first = message;
    let rest = Message { blocks: first.blocks.split_off(at), ..first.clone() };
    // A cache ends where the message ends.
    vec![Message { cached: false, ..first }, rest]
}

/// Settings of the engine and the pressure on it.
#[derive(Debug, Clone)]
pub struct Settings {
    pub policy: Policy,
    pub counter: Arc<dyn CountTokens>,
    pub storing: Storing,
    pub urgency: Urgency,
    /// The budget, in hundredths of what the conversation takes.
    pub share: usize,
}

impl Settings {
    pub fn budget(&self, tokens: usize) -> usize {
        (tokens * self.share / 100).max(1)
    }
}

pub fn counter() -> impl Strategy<Value = Arc<dyn CountTokens>> {
    prop_oneof![Just(exact()), Just(estimate())]
}

pub fn settings() -> impl Strategy<Value = Settings> {
    let stages = prop_oneof![
        3 => Just(small_policy().stages),
        2 => Just(undigested().stages),
        1 => Just(vec![StageName::Window]),
        1 => Just(vec![StageName::Digest, StageName::Window, StageName::Compress]),
        1 => Just(vec![StageName::Compress]),
        1 => Just(vec![StageName::Compress, StageName::Window, StageName::Offload]),
        1 => Just(vec![StageName::Prune]),
        1 => Just(vec![StageName::Prune, StageName::Offload, StageName::Window, StageName::Digest]),
    ];
    let sizes =
        (0_usize..3, 0_usize..9, prop::sample::select(vec![(1, 1), (60, 20), (150, 40), (400, 100)]), 1_usize..1_500);
    let storing = prop_oneof![3 => Just(Storing::On), 1 => Just(Storing::Off)];
    let urgency = prop_oneof![Just(Urgency::Soft), Just(Urgency::Hard)];
    (counter(), stages, sizes, storing, urgency, 5_usize..140).prop_map(
        |(
            counter,
            stages,
            (keep_first, keep_recent, (offload_above, offload_preview), compress_to),
            storing,
            urgency,
            share,
        )| {
            let policy = Policy {
                stages,
                keep_first,
                keep_recent,
                offload_above,
                offload_preview,
                compress_to,
                ..small_policy()
            };
            Settings { policy, counter, storing, urgency, share }
        },
    )
}
