//! Plans are the same if the data that threads share is not available.

use std::mem;
use std::thread;

use ullage::shared::Shared;

#[test]
fn a_lock_that_is_never_given_back_is_done_without() {
    let shared = Shared::<usize>::default();
    // As a fork leaves it whose parent had it in another thread.
    mem::forget(shared.lock());
    // Waiting for it every time would take hours.
    let had = (0..100_000).filter(|_| shared.lock().is_some()).count();
    assert_eq!(had, 0);
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
    let had = || {
        let shared = Shared::<usize>::default();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..EACH).filter_map(|_| shared.lock()).for_each(|mut count| *count += 1));
            }
        });
        shared.lock().map(|count| *count)
    };
    // A busy machine may stop a thread while it holds the lock, so that others give it up; hardly five times.
    assert!((0..5).any(|_| had() == Some(4 * EACH)));
}
