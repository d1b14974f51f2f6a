//! Lets queries in to the state they share, unless a thread wants to change it: then that thread
//! waits until those inside are out, and the others wait outside.
//!
//! A query that goes in or out writes only to a place of its own, so that queries share no cache
//! line here. A word that all of them change would be one more lock to measure.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval between checks that all are out. A query takes some ten to hundred µs.
const LOOK_EVERY: Duration = Duration::from_micros(50);

pub struct Turnstile<T> {
    inner: UnsafeCell<T>,
    shut: AtomicBool,
    /// One at a time shuts it.
    shutting: Mutex<()>,
    passes: Mutex<Vec<Arc<PassState>>>,
    /// Those outside sleep here while it is shut.
    outside: Mutex<()>,
    opened: Condvar,
}

// SAFETY: those inside share `T`, and the thread that has shut the turnstile has it alone.
unsafe impl<T: Send + Sync> Sync for Turnstile<T> {}

/// Two lines of memory: processors fetch them in pairs.
#[repr(align(128))]
struct PassState {
    inside: AtomicBool,
}

/// What a thread goes in with, one query at a time. It opens only the turnstile that made it, which
/// knows it until it is dropped: so no thread is inside unseen.
pub struct Pass<T> {
    turnstile: Arc<Turnstile<T>>,
    state: Arc<PassState>,
}

/// A query is inside, until this is dropped.
pub struct Entered<'t, T> {
    inner: &'t T,
    state: &'t PassState,
}

/// All are out, and none comes in until this is dropped.
pub struct Shut<'t, T> {
    turnstile: &'t Turnstile<T>,
    _alone: MutexGuard<'t, ()>,
}

impl<T> Turnstile<T> {
    pub fn new(inner: T) -> Self {
        Self {
            inner: UnsafeCell::new(inner),
            shut: AtomicBool::new(false),
            shutting: Mutex::new(()),
            passes: Mutex::new(Vec::new()),
            outside: Mutex::new(()),
            opened: Condvar::new(),
        }
    }

    /// A pass for one thread.
    pub fn pass(self: &Arc<Self>) -> Pass<T> {
        let state = Arc::new(PassState {
            inside: AtomicBool::new(false),
        });
        locked(&self.passes).push(Arc::clone(&state));
        Pass {
            turnstile: Arc::clone(self),
            state,
        }
    }

    /// Goes in once, when it is open, for a thread that has no pass.
    pub fn look<S>(self: &Arc<Self>, look: impl FnOnce(&T) -> S) -> S {
        look(&self.pass().enter_when_open())
    }

    /// How many are inside now.
    pub fn inside(&self) -> usize {
        let is_inside = |one: &&Arc<PassState>| one.inside.load(Ordering::Relaxed);
        locked(&self.passes).iter().filter(is_inside).count()
    }

    /// Waits while it is shut.
    pub fn wait_until_open(&self) {
        let mut outside = locked(&self.outside);
        while self.shut.load(Ordering::SeqCst) {
            outside = self
                .opened
                .wait(outside)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets no query in any more, and waits until all who are inside are out. A query that is
    /// inside must not call this.
    pub fn shut(&self) -> Shut<'_, T> {
        let alone = locked(&self.shutting);
        self.shut.store(true, Ordering::SeqCst);
        // A thread that asks for a pass from here on sees it shut.
        let passes: Vec<_> = locked(&self.passes).clone();
        for pass in passes {
            while pass.inside.load(Ordering::SeqCst) {
                std::thread::sleep(LOOK_EVERY);
            }
        }
        Shut {
            turnstile: self,
            _alone: alone,
        }
    }
}

impl<T> Pass<T> {
    /// Goes in; none if it is shut. The borrow sees to it that a pass is used for one visit at a
    /// time, and lives as long as the visit.
    #[inline]
    pub fn enter(&mut self) -> Option<Entered<'_, T>> {
        self.let_in()
    }

    /// Goes in, and waits before while it is shut.
    pub fn enter_when_open(&mut self) -> Entered<'_, T> {
        loop {
            if let Some(entered) = self.let_in() {
                return entered;
            }
            self.turnstile.wait_until_open();
        }
    }

    #[inline]
    fn let_in(&self) -> Option<Entered<'_, T>> {
        let Self { turnstile, state } = self;
        // In this order: either the thread that shuts it sees us inside, or we see it shut.
        state.inside.store(true, Ordering::SeqCst);
        if turnstile.shut.load(Ordering::SeqCst) {
            state.inside.store(false, Ordering::SeqCst);
            return None;
        }
        // SAFETY: no thread has it alone while we are inside: the turnstile knows this pass while
        // the visit borrows it, and a thread that shuts it waits for all that it knows.
        let inner = unsafe { &*turnstile.inner.get() };
        Some(Entered { inner, state })
    }
}

impl<T> Drop for Pass<T> {
    fn drop(&mut self) {
        locked(&self.turnstile.passes).retain(|one| !Arc::ptr_eq(one, &self.state));
    }
}

impl<T> Deref for Entered<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        self.inner
    }
}

impl<T> Drop for Entered<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.state.inside.store(false, Ordering::Release);
    }
}

impl<T> Deref for Shut<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this thread has it alone.
        unsafe { &*self.turnstile.inner.get() }
    }
}

impl<T> DerefMut for Shut<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.turnstile.inner.get() }
    }
}

impl<T> Drop for Shut<'_, T> {
    fn drop(&mut self) {
        // Under the lock, so that no thread falls asleep between looking and waiting.
        let outside = locked(&self.turnstile.outside);
        self.turnstile.shut.store(false, Ordering::SeqCst);
        drop(outside);
        self.turnstile.opened.notify_all();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn nobody_is_inside_while_it_is_changed_and_nobody_is_lost() {
        // Two numbers that differ for a moment whenever they are changed.
        let turnstile = Arc::new(Turnstile::new((0u64, 0u64)));
        let seen = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut pass = turnstile.pass();
                    for _ in 0..5_000 {
                        let inside = pass.enter_when_open();
                        assert_eq!(inside.0, inside.1);
                        seen.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let mut shut = turnstile.shut();
                        shut.0 += 1;
                        std::thread::yield_now();
                        shut.1 += 1;
                    }
                });
            }
        });
        assert_eq!(seen.into_inner(), 15_000);
        assert_eq!(*turnstile.shut(), (100, 100));
        assert!(turnstile.passes.lock().unwrap().is_empty());
    }

    #[test]
    fn who_is_inside_is_counted() {
        let turnstile = Arc::new(Turnstile::new(()));
        let (mut first, mut second) = (turnstile.pass(), turnstile.pass());
        assert_eq!(turnstile.inside(), 0);
        let inside = first.enter().unwrap();
        let other = second.enter();
        assert_eq!(turnstile.inside(), 2);
        drop((inside, other));
        assert_eq!(turnstile.inside(), 0);
    }
}
