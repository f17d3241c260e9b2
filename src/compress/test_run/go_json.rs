//! `go test -json`: an event on each line. The output of failing tests is shown as they printed it.

use std::borrow::Cow;
use std::collections::HashSet;

use foldhash::fast::RandomState;
use serde::Deserialize;

use super::super::outline::{Outline, Rank};
use super::super::ranked::{RankedLines, Reports};
use super::super::sample::Sample;
use super::status::{Counts, Status};

/// The least percentage of lines that are events.
const EVENTS: usize = 80;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event<'a> {
    #[serde(borrow)]
    action: Cow<'a, str>,
    #[serde(borrow, default)]
    package: Cow<'a, str>,
    #[serde(borrow, default)]
    test: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    output: Option<Cow<'a, str>>,
}

fn event(line: &str) -> Option<Event<'_>> {
    line.starts_with('{').then(|| serde_json::from_str(line).ok()).flatten()
}

/// True if most lines are events of a test run.
pub(super) fn claims(sample: &Sample<'_>) -> bool {
    sample.share(|line| line.starts_with('{') && line.contains("\"Action\":\"") && line.contains("\"Package\":\""))
        >= EVENTS
}

/// Returns the events; `None` if the first line is not an event. O(length).
pub(super) fn outline(text: &str) -> Option<Outline<'_>> {
    event(text.lines().next()?)?;
    let mut run = RankedLines::of(text, Reports::Nothing);
    let events: Vec<Option<Event<'_>>> = (0..run.len()).map(|index| event(run.line(index))).collect();
    let mut counts = Counts::default();
    let mut failed = HashSet::with_hasher(RandomState::default());
    for event in events.iter().flatten() {
        let Some(name) = &event.test else { continue };
        match &*event.action {
            "pass" => counts.add(Status::Passed),
            "skip" => counts.add(Status::Skipped),
            "fail" => {
                counts.add(Status::Failed);
                failed.insert((&event.package, name));
            }
            _ => {}
        }
    }
    run.before(0, counts.to_string(), Rank::Key);
    for (index, event) in events.iter().enumerate() {
        let Some(event) = event else {
            run.reports(index, Reports::ByWords);
            continue;
        };
        let has_failed = event.test.as_ref().is_some_and(|name| failed.contains(&(&event.package, name)));
        let (rank, reports) = match (&*event.action, &event.output) {
            ("output" | "build-output", Some(output)) => {
                run.reword(index);
                match () {
                    () if output.starts_with("=== ") => (Rank::Bulk, Reports::Nothing),
                    () if output.trim_start().starts_with("--- FAIL") => (Rank::Alarm, Reports::Failure),
                    () if has_failed && output.contains("_test.go:") => (Rank::Alarm, Reports::ByWords),
                    () if has_failed => (Rank::Failure, Reports::ByWords),
                    () if event.test.is_some() => (Rank::Ordinary, Reports::Aside),
                    () => (Rank::Sample, Reports::ByWords),
                }
            }
            // Other events are printed as output too.
            _ => (Rank::Bulk, Reports::Nothing),
        };
        run.set(index, rank);
        run.reports(index, reports);
    }
    Some(run.outline().rewording(printed))
}

/// Returns the output in an event.
fn printed(line: &str) -> String {
    let output = event(line.trim_end()).and_then(|event| event.output.map(Cow::into_owned));
    match output {
        Some(output) => output.trim_end_matches('\n').to_owned() + "\n",
        None => line.to_owned(),
    }
}
