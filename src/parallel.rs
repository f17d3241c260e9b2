//! Shares work among threads if there is enough of it.

use std::num::NonZero;
use std::thread;

/// Maximum number of threads for one call. With more, reading the host's messages takes longer than the shared work.
const MOST_THREADS: usize = 4;

/// Applies `f` to every item, and returns the results in order. `weight` is the work of an item. With less than twice
/// `worth_a_thread` of it in all, or on one core, everything runs on the calling thread.
pub fn map<I: Sync, O: Send>(
    items: &[I],
    weight: impl Fn(&I) -> usize,
    worth_a_thread: usize,
    f: impl Fn(&I) -> O + Sync,
) -> Vec<O> {
    let total: usize = items.iter().map(&weight).sum();
    let wanted = (total / worth_a_thread.max(1)).min(MOST_THREADS);
    // Checked last, because the answer comes from system files, which takes longer than a small plan.
    let cores = || thread::available_parallelism().map_or(1, NonZero::get);
    let threads = if wanted < 2 { 1 } else { wanted.min(cores()) };
    if threads < 2 {
        return items.iter().map(f).collect();
    }
    let shares = shares(items, weight, total.div_ceil(threads));
    let run = |share: &[I]| share.iter().map(&f).collect::<Vec<O>>();
    thread::scope(|scope| {
        let mut shares = shares.into_iter();
        let own = shares.next().unwrap_or_default();
        let run = &run;
        let workers: Vec<_> = shares.map(|share| scope.spawn(move || run(share))).collect();
        let mut out = run(own);
        for worker in workers {
            // A worker panics only if `f` does, and then the caller panics too.
            out.extend(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        out
    })
}

/// Runs `a` and `b`, in parallel if `weight` is at least `worth_a_thread`.
pub fn both<A: Send, B>(
    weight: usize,
    worth_a_thread: usize,
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B,
) -> (A, B) {
    if weight < worth_a_thread || thread::available_parallelism().map_or(1, NonZero::get) < 2 {
        return (a(), b());
    }
    thread::scope(|scope| {
        let worker = scope.spawn(a);
        let b = b();
        (worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), b)
    })
}

/// Splits `items` into runs of about the same weight.
fn shares<I>(items: &[I], weight: impl Fn(&I) -> usize, size: usize) -> Vec<&[I]> {
    let mut shares = Vec::new();
    let (mut start, mut filled) = (0, 0);
    for (index, item) in items.iter().enumerate() {
        filled += weight(item);
        if filled >= size {
            shares.push(&items[start..=index]);
            (start, filled) = (index + 1, 0);
        }
    }
    if start < items.len() {
        shares.push(&items[start..]);
    }
    shares
}
