//! Values that threads share, and that no thread waits long for.
//!
//! A process that forks while one of its threads holds a lock leaves its child a lock that nobody will ever give back.
//! So whoever asks for a [`Shared`] value does without it after a while. It is asked for again and again rather than
//! waited for, because a queue of threads that wait is behind locks too.
//!
//! A [`Locked`] value is one that nobody can do without. A fork waits until no thread holds or awaits such a lock:
//! [`before_fork`] and the two functions for afterwards are called by the host's hooks for forks. The same holds for a
//! [`Lazy`] value while a thread makes it: its child would wait for ever for the end of that.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

/// Tries before the first nap: the lock is most often held for less than a microsecond.
const TRIES: u32 = 100;

/// Naps before it is given up, about a tenth of a second in all. Nobody holds the lock for more than the milliseconds that
/// a sweep takes.
const NAPS: u32 = 500;
const NAP: Duration = Duration::from_micros(200);

/// Failed attempts in a row after which no thread waits for the value, until one gets it.
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

/// Threads that hold or await a [`Locked`] value.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// Threads that are about to fork.
static FORKING: AtomicUsize = AtomicUsize::new(0);

/// Naps before a fork, or a thread that a fork holds up, goes on regardless: about a second. A thread that is held up may
/// keep the interpreter from the thread that forks.
const FORK_NAPS: u32 = 5_000;

/// A value for one thread at a time. No fork leaves it locked in the child.
#[derive(Debug, Default)]
pub struct Locked<T>(Mutex<T>);

impl<T> Locked<T> {
    /// Returns an unlocked value.
    pub fn new(value: T) -> Locked<T> {
        Locked(Mutex::new(value))
    }

    /// The value, once no other thread has it.
    pub fn lock(&self) -> LockedGuard<'_, T> {
        let inside = Inside::enter();
        LockedGuard { value: self.0.lock(), _inside: inside }
    }
}

/// A [`Locked`] value while it is held.
#[derive(Debug)]
pub struct LockedGuard<'a, T> {
    // Given back before the thread counts as outside: fields are dropped in this order.
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

/// A value that is made when it is first needed. No fork leaves it half made in the child.
#[derive(Debug)]
pub struct Lazy<T> {
    cell: OnceLock<T>,
    make: fn() -> T,
}

impl<T> Lazy<T> {
    /// A value that `make` returns once.
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

/// The value of a cell, which `make` returns if it has none yet. No fork leaves it half made in the child.
pub fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    if let Some(value) = cell.get() {
        return value;
    }
    let _inside = Inside::enter();
    cell.get_or_init(make)
}

thread_local! {
    /// The number of times that this thread is [`Inside`]: a value may need another one to be made.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// The function by which a thread waits for the end of a fork, if not by sleeping.
static PAUSE: OnceLock<fn(Duration)> = OnceLock::new();

/// Has threads wait for the end of a fork by `pause`: a host whose threads run one at a time must let the one run that forks.
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
            // The fork waits for this thread already: it may not wait for the fork.
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

/// Waits until no thread holds or awaits a [`Locked`] value, and keeps the others out until the fork is done.
pub fn before_fork() {
    FORKING.fetch_add(1, Ordering::SeqCst);
    for _ in 0..FORK_NAPS {
        if INSIDE.load(Ordering::SeqCst) == 0 {
            return;
        }
        thread::sleep(NAP);
    }
}

/// Lets the threads of the parent go on.
pub fn after_fork_in_parent() {
    FORKING.fetch_sub(1, Ordering::SeqCst);
}

/// Lets the only thread of the child go on: those that were counted stayed in the parent.
pub fn after_fork_in_child() {
    FORKING.store(0, Ordering::SeqCst);
    INSIDE.store(0, Ordering::SeqCst);
}
