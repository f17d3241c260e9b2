//! Conversations, abstract and rendered, and how a test runs the engine on them.

pub mod check;
pub mod generate;
pub mod images;
pub mod nearly;
pub mod one_format;
pub mod published;
pub mod render;
pub mod shrinking;

use std::sync::{Arc, LazyLock};

use proptest::prelude::ProptestConfig;
pub use render::render;
use serde_json::{Value, json};
use ullage::engine::{Ask, Engine, Room, apply, content};
use ullage::error::{Error, Result};
use ullage::ledger::Ledger;
use ullage::message::Conversation;
use ullage::planner::{Deadline, Plan, Urgency};
use ullage::policy::{Policy, StageName};
use ullage::store::Storing;
use ullage::store::{MemoryStore, Reference, Store};
use ullage::tokens::{CountTokens, Encoding, Estimate, Exact};
use ullage::wire::{Build, Change, Format};

/// The list that changes describe.
pub fn rewrite<N: Build, T>(
    messages: &N,
    conversation: &Conversation<T>,
    format: Format,
    changes: &[Change<'_>],
) -> Result<Vec<N::Out>> {
    let rewritten = ullage::wire::rewrite(messages, conversation, format, changes)?;
    Ok(rewritten.into_iter().map(|entry| entry.value).collect())
}

/// An item of a tool result. Anthropic has no JSON items: there they are text.
#[derive(Debug, Clone)]
pub enum Item {
    Text(String),
    Json(Value),
    Image,
}

impl Item {
    /// The item as a block, for formats where both look alike; JSON as text.
    pub fn as_block(&self) -> Block {
        match self {
            Item::Text(text) => Block::Text(text.clone()),
            Item::Json(value) => Block::Text(value.to_string()),
            Item::Image => Block::Image,
        }
    }
}

#[derive(Debug, Clone)]
pub enum Block {
    Text(String),
    Thinking { text: String, signed: bool },
    Image,
    Unknown(String),
    Call { id: String, tool: String, input: Value },
    Result { id: String, items: Vec<Item> },
}

/// A message of no format.
#[derive(Debug, Clone)]
pub struct Message {
    pub role: &'static str,
    pub blocks: Vec<Block>,
    pub pinned: bool,
    /// Ends in a cache point.
    pub cached: bool,
    /// True if the content has the ids under which OpenAI has stored it, in formats that carry them.
    pub stored: bool,
}

impl Message {
    pub fn new(role: &'static str, blocks: Vec<Block>) -> Message {
        Message { role, blocks, pinned: false, cached: false, stored: false }
    }

    pub fn text(role: &'static str, text: &str) -> Message {
        Message::new(role, vec![Block::Text(text.to_owned())])
    }

    pub fn call(id: &str, tool: &str) -> Message {
        let (id, tool, input) = (id.to_owned(), tool.to_owned(), json!({ "path": "a" }));
        Message::new("assistant", vec![Block::Call { id, tool, input }])
    }

    pub fn result(id: &str, text: &str) -> Message {
        let items = vec![Item::Text(text.to_owned())];
        Message::new("user", vec![Block::Result { id: id.to_owned(), items }])
    }

    #[must_use]
    pub fn pinned(self) -> Message {
        Message { pinned: true, ..self }
    }
}

static EXACT: LazyLock<Arc<dyn CountTokens>> = LazyLock::new(|| Arc::new(Exact::new(Encoding::O200kBase)));
static ESTIMATE: LazyLock<Arc<dyn CountTokens>> = LazyLock::new(|| Arc::new(Estimate::claude()));

pub fn exact() -> Arc<dyn CountTokens> {
    EXACT.clone()
}

pub fn estimate() -> Arc<dyn CountTokens> {
    ESTIMATE.clone()
}

/// A word for a number: lines that differ in it are not alike, as those that differ in a number are.
pub fn word(number: usize) -> String {
    let letter = |n: usize| char::from(b'a' + u8::try_from(n % 26).unwrap_or_default());
    [number, number / 26, number / 676].map(letter).iter().collect()
}

/// Small sizes, so that small conversations have something to lose.
pub fn small_policy() -> Policy {
    Policy {
        window: 20_000,
        reserve_output: 500,
        keep_recent: 4,
        shrink_above: 300,
        shrink_to: 120,
        offload_above: 150,
        offload_preview: 40,
        compress_to: 120,
        ..Policy::default()
    }
}

/// The same where what goes is cut by itself, or goes whole: what is left then depends on the one text alone.
pub fn undigested() -> Policy {
    Policy { stages: vec![StageName::Offload, StageName::Compress, StageName::Window], ..small_policy() }
}

pub fn engine(policy: &Policy, counter: &Arc<dyn CountTokens>, storing: Storing) -> Engine {
    Engine::new(policy.clone(), Arc::new(Ledger::new(counter.clone())), storing).unwrap()
}

pub fn ask(budget: usize, urgency: Urgency) -> Ask<'static> {
    Ask {
        room: Room { budget: Some(budget), ..Room::default() },
        urgency,
        salt: 0,
        distrusted: &[],
        deadline: Deadline::Never,
        answer: None,
    }
}

/// Asks for what the policy's window leaves.
pub fn ask_window(urgency: Urgency) -> Ask<'static> {
    Ask { room: Room::default(), urgency, salt: 0, distrusted: &[], deadline: Deadline::Never, answer: None }
}

/// The result of a compaction.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub plan: Plan,
    pub output: Value,
    pub stored: Vec<(Reference, Vec<u8>)>,
}

/// Reads, plans and applies, as a host without a store does.
pub fn compact(engine: &Engine, messages: &Value, format: Format, budget: usize, urgency: Urgency) -> Result<Outcome> {
    run(engine, messages, format, ask(budget, urgency))
}

/// The same inside the policy's window.
pub fn compact_in_window(engine: &Engine, messages: &Value, format: Format, urgency: Urgency) -> Result<Outcome> {
    run(engine, messages, format, ask_window(urgency))
}

/// The same with a store, as a host does it: where other content has a reference, with another salt.
pub fn compact_into(
    store: &MemoryStore,
    engine: &Engine,
    messages: &Value,
    format: Format,
    ask: Ask<'_>,
) -> Result<Outcome> {
    let outcome = run(engine, messages, format, ask)?;
    let put = outcome.stored.iter().try_for_each(|(reference, content)| store.put(reference, content));
    match put {
        Err(Error::Taken { .. }) if ask.salt < 8 => {
            compact_into(store, engine, messages, format, Ask { salt: ask.salt + 1, ..ask })
        }
        put => put.map(|()| outcome),
    }
}

fn run(engine: &Engine, messages: &Value, format: Format, ask: Ask<'_>) -> Result<Outcome> {
    let reading = engine.read(&messages, Some(format), &[])?;
    let plan = engine.plan(&reading, ask)?;
    let mut stored = Vec::new();
    for artifact in &plan.artifacts {
        stored.push((
            artifact.reference.clone(),
            content(&plan, &reading.conversation, &artifact.source, &messages)?.into_owned(),
        ));
    }
    let output = Value::Array(apply(&plan, &messages)?);
    Ok(Outcome { plan, output, stored })
}

/// Tokens of the messages, by an engine that has seen nothing.
pub fn fresh_count(messages: &Value, format: Format, counter: &Arc<dyn CountTokens>) -> usize {
    let conversation = ullage::wire::read(&messages, format).unwrap();
    Ledger::new(counter.clone()).measure(&conversation).total()
}

/// The first `end` messages, or those from `start` on.
pub fn slice(messages: &Value, range: std::ops::Range<usize>) -> Value {
    Value::Array(messages.as_array().unwrap()[range].to_vec())
}

/// True in `make test-all`, which tries every case; `make test` tries a part of them.
pub fn is_long() -> bool {
    std::env::var_os("ULLAGE_LONG_TESTS").is_some()
}

/// Proptest without files beside the sources, with a quarter of the cases unless the run is long.
pub fn cases(cases: u32) -> ProptestConfig {
    let cases = if is_long() { cases } else { cases.div_ceil(4) };
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 4_000, ..ProptestConfig::default() }
}
