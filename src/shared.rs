//! What threads share, and none of them waits long for.
//!
//! A process that forks while one of its threads holds a lock leaves its child a lock that nobody will ever give back. So
//! whoever asks for a [`Shared`] value does without it after a while. It is asked for again and again rather than waited
//! for, because a queue of threads that wait is behind locks too.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

/// Tries before the first nap: the lock is most often held for less than a microsecond.
const TRIES: u32 = 100;

/// Naps before it is given up, about a tenth of a second in all. Nobody holds the lock for more than the milliseconds that
/// a sweep takes.
const NAPS: u32 = 500;
const NAP: Duration = Duration::from_micros(200);

/// Times in a row that it was asked for in vain, after which nobody waits for it, until somebody has had it.
const GIVEN_UP_AFTER: u32 = 2;

/// A value for one thread at a time, which the others can do without.
#[derive(Debug, Default)]
pub struct Shared<T> {
    value: Mutex<T>,
    in_vain: AtomicU32,
}

impl<T> Shared<T> {
    /// The value, if it can be had within about a tenth of a second.
    pub fn lock(&self) -> Option<MutexGuard<'_, T>> {
        let given_up = self.in_vain.load(Ordering::Relaxed) >= GIVEN_UP_AFTER;
        let waits = if given_up { 0 } else { TRIES + NAPS };
        let mut guard = self.value.try_lock();
        for wait in 0..waits {
            if guard.is_some() {
                break;
            }
            if wait < TRIES {
                thread::yield_now();
            } else {
                thread::sleep(NAP);
            }
            guard = self.value.try_lock();
        }
        match guard {
            Some(_) => self.in_vain.store(0, Ordering::Relaxed),
            None => self.in_vain.store(GIVEN_UP_AFTER.min(self.in_vain.load(Ordering::Relaxed) + 1), Ordering::Relaxed),
        }
        guard
    }
}
