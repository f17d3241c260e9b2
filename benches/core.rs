//! The core by itself, over JSON values: what a plan costs without a host.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde_json::{Value, json};
use tiktoken_rs::o200k_base_singleton;
use ullage::anchors::anchors;
use ullage::engine::{Ask, Engine, Room};
use ullage::ledger::Ledger;
use ullage::planner::{Deadline, Urgency};
use ullage::policy::Policy;
use ullage::store::Storing;
use ullage::tokens::{CountTokens, Encoding, Estimate, Exact, TextKind};

/// Calls in the history: two messages each.
const CALLS: usize = 500;
/// Lines of a result: about 2 KB.
const LINES: usize = 25;

fn result(call: usize) -> String {
    let id = call * 7919;
    let line = |line| format!("2026-11-21T09:{line:02}:00 INFO worker-{call} handled id={id:06x} in {line} ms");
    (0..LINES).map(line).collect::<Vec<_>>().join("\n")
}

fn history() -> Value {
    let mut messages = vec![json!({"role": "user", "content": [{"text": "Look into every part."}]})];
    for call in 0..CALLS {
        let id = format!("call-{call}");
        messages.push(json!({"role": "assistant", "content": [
            {"toolUse": {"toolUseId": id, "name": "read_file", "input": {"path": format!("src/{call}.rs")}}}]}));
        messages.push(json!({"role": "user", "content": [
            {"toolResult": {"toolUseId": id, "status": "success", "content": [{"text": result(call)}]}}]}));
    }
    Value::Array(messages)
}

fn counting(criterion: &mut Criterion) {
    let text: String = (0..CALLS).map(result).collect();
    let exact = Exact::new(Encoding::O200kBase);
    assert_eq!(exact.count(&text, TextKind::Prose), o200k_base_singleton().encode_ordinary(&text).len());
    let mut group = criterion.benchmark_group("count o200k_base");
    group.throughput(Throughput::Bytes(text.len() as u64)).sample_size(10);
    group.bench_function("ullage", |bench| bench.iter(|| exact.count(black_box(&text), TextKind::Prose)));
    group.bench_function("tiktoken-rs", |bench| {
        bench.iter(|| o200k_base_singleton().encode_ordinary(black_box(&text)).len());
    });
    group.finish();

    let mut group = criterion.benchmark_group("estimate");
    group.throughput(Throughput::Bytes(text.len() as u64));
    let estimate = Estimate::claude();
    group.bench_function("claude", |bench| bench.iter(|| estimate.count(black_box(&text), TextKind::ToolOutput)));
    group.finish();
}

fn finding_anchors(criterion: &mut Criterion) {
    let text: String = (0..CALLS).map(result).collect();
    let mut group = criterion.benchmark_group("anchors");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("of a log", |bench| {
        bench.iter(|| {
            let mut bytes = 0;
            anchors(black_box(&text), |anchor| bytes += anchor.range.len());
            bytes
        });
    });
    group.finish();
}

fn planning(criterion: &mut Criterion) {
    let messages = history();
    let engine =
        Engine::new(Policy::default(), Arc::new(Ledger::new(Arc::new(Exact::new(Encoding::O200kBase)))), Storing::On)
            .expect("the default policy is valid");
    let mut group = criterion.benchmark_group(format!("{} messages", 2 * CALLS + 1));
    for (name, budget) in [("nothing due", 10_000_000), ("down to half of 100k", 100_000)] {
        let ask = Ask {
            room: Room { budget: Some(budget), ..Room::default() },
            urgency: Urgency::Soft,
            salt: 0,
            distrusted: &[],
            deadline: Deadline::Never,
            answer: None,
        };
        group.bench_function(name, |bench| {
            bench.iter(|| {
                let reading = engine.read(&black_box(&messages), None, &[]).expect("the history is valid");
                engine.plan(&reading, ask).expect("the history fits")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, counting, finding_anchors, planning);
criterion_main!(benches);
