//! What threads share is done without where it cannot be had.

use std::mem;
use std::thread;
use std::time::{Duration, Instant};

use ullage::shared::Shared;

#[test]
fn a_lock_that_is_never_given_back_is_done_without() {
    let shared = Shared::<usize>::default();
    // As a fork leaves it whose parent had it in another thread.
    mem::forget(shared.lock());
    let start = Instant::now();
    let had = (0..1_000).filter(|_| shared.lock().is_some()).count();
    assert_eq!(had, 0);
    assert!(start.elapsed() < Duration::from_secs(5), "nobody waits for it a thousand times");
}

#[test]
fn a_lock_that_is_given_back_is_had_again() {
    let shared = Shared::<usize>::default();
    for _ in 0..3 {
        let guard = shared.lock();
        thread::scope(|scope| {
            scope.spawn(|| (0..3).for_each(|_| assert!(shared.lock().is_none())));
        });
        drop(guard);
        assert!(shared.lock().is_some());
    }
}

#[test]
fn no_thread_goes_without_while_others_are_quick() {
    const EACH: usize = 2_000;
    let shared = Shared::<usize>::default();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..EACH {
                    *shared.lock().expect("it is held for a moment") += 1;
                }
            });
        }
    });
    assert_eq!(shared.lock().map(|count| *count), Some(4 * EACH));
}
