//! Values that threads share, and that no thread waits long for.
//!
//! If a process forks while one of its threads holds a lock, that lock is never released in the child. So a thread that
//! cannot get a [`Shared`] value after a while continues without it. The thread tries again and again instead of
//! waiting, because a queue of waiting threads needs locks too.
//!
//! A [`Locked`] value is one that no thread can continue without. A fork waits until no thread holds or awaits such a
//! lock: the host's fork hooks call [`before_fork`] and the two functions for afterwards. The same holds while a thread
//! computes a [`Lazy`] value, because the child would wait forever for that thread.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

/// Number of tries before the first sleep. The lock is mostly held for less than a microsecond.
const TRIES: u32 = 100;

/// Number of sleeps before a thread gives up, about a tenth of a second in all. No thread holds the lock for more than
/// the milliseconds of a sweep.
const NAPS: u32 = 500;
const NAP: Duration = Duration::from_micros(200);

/// After this many consecutive failures no thread waits for the value, until one gets it.
const GIVEN_UP_AFTER: u32 = 2;

/// A value for one thread at a time. The others can continue without it.
#[derive(Debug, Default)]
pub struct Shared<T> {
    value: Mutex<T>,
    in_vain: AtomicU32,
}

impl<T> Shared<T> {
    /// Returns the value, if it is free within about a tenth of a second.
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

/// Number of threads that hold or await a [`Locked`] value.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// Number of threads that are about to fork.
static FORKING: AtomicUsize = AtomicUsize::new(0);

/// Number of sleeps, about a second in all, after which a fork, or a thread that a fork holds up, continues anyway.
/// Otherwise it might hold the interpreter that the forking thread needs.
const FORK_NAPS: u32 = 5_000;

/// A value for one thread at a time. No fork leaves it locked in the child.
#[derive(Debug, Default)]
pub struct Locked<T>(Mutex<T>);

impl<T> Locked<T> {
    /// Returns an unlocked value.
    pub fn new(value: T) -> Locked<T> {
        Locked(Mutex::new(value))
    }

    /// Returns the value as soon as no other thread has it.
    pub fn lock(&self) -> LockedGuard<'_, T> {
        let inside = Inside::enter();
        LockedGuard { value: self.0.lock(), _inside: inside }
    }
}

/// A [`Locked`] value while it is held.
#[derive(Debug)]
pub struct LockedGuard<'a, T> {
    // Released before the thread counts as outside, because fields are dropped in this order.
    value: MutexGuard<'a, T>,
    _inside: Inside,
}

impl<T> Deref for LockedGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for LockedGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// A value that is computed on first use. No fork leaves it half made in the child.
#[derive(Debug)]
pub struct Lazy<T> {
    cell: OnceLock<T>,
    make: fn() -> T,
}

impl<T> Lazy<T> {
    /// Returns a value that `make` computes once.
    pub const fn new(make: fn() -> T) -> Lazy<T> {
        Lazy { cell: OnceLock::new(), make }
    }
}

impl<T> Deref for Lazy<T> {
    type Target = T;

    fn deref(&self) -> &T {
        once(&self.cell, self.make)
    }
}

/// Returns the value of a cell, computing it with `make` if it is empty. No fork leaves it half made in the child.
pub fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    if let Some(value) = cell.get() {
        return value;
    }
    let _inside = Inside::enter();
    cell.get_or_init(make)
}

thread_local! {
    /// The number of times that this thread is [`Inside`], because computing a value may need another one.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// The function by which a thread waits for the end of a fork, if not by sleeping.
static PAUSE: OnceLock<fn(Duration)> = OnceLock::new();

/// Sets how threads wait for the end of a fork. If the host's threads run one at a time, they must let the forking
/// thread run.
pub fn pause_by(pause: fn(Duration)) {
    // It is set once, when the host loads the crate.
    let _ = PAUSE.set(pause);
}

/// A thread that counts as holding or awaiting a lock.
#[derive(Debug)]
struct Inside;

impl Inside {
    fn enter() -> Inside {
        let depth = DEPTH.get();
        DEPTH.set(depth + 1);
        if depth > 0 {
            // The fork already waits for this thread, so this thread must not wait for the fork.
            INSIDE.fetch_add(1, Ordering::SeqCst);
            return Inside;
        }
        for _ in 0..FORK_NAPS {
            INSIDE.fetch_add(1, Ordering::SeqCst);
            if FORKING.load(Ordering::SeqCst) == 0 {
                return Inside;
            }
            INSIDE.fetch_sub(1, Ordering::SeqCst);
            PAUSE.get().unwrap_or(&(thread::sleep as fn(Duration)))(NAP);
        }
        INSIDE.fetch_add(1, Ordering::SeqCst);
        Inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        INSIDE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits until no thread holds or awaits a [`Locked`] value, and keeps other threads out until the fork is done.
pub fn before_fork() {
    FORKING.fetch_add(1, Ordering::SeqCst);
    for _ in 0..FORK_NAPS {
        if INSIDE.load(Ordering::SeqCst) == 0 {
            return;
        }
        thread::sleep(NAP);
    }
}

/// Lets the threads of the parent continue.
pub fn after_fork_in_parent() {
    FORKING.fetch_sub(1, Ordering::SeqCst);
}

/// Lets the only thread of the child continue. The counted threads stayed in the parent.
pub fn after_fork_in_child() {
    FORKING.store(0, Ordering::SeqCst);
    INSIDE.store(0, Ordering::SeqCst);
}
