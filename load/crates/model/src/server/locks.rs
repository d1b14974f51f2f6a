//! The locks of the model server: five kinds for state that is held shortly and often, and the lock
//! of the index, which a walk takes to read.
//!
//! MariaDB's key cache has a pthread mutex of the adaptive type, which spins for a moment before it
//! sleeps, and the index of a MyISAM table a pthread rwlock. A mutex of pthread, of std and of
//! parking_lot may be taken by any thread that comes just then (it barges). The fair one is handed
//! over to the thread that has slept longest.

use crate::LockKind;
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::sync::{MutexGuard, PoisonError};

/// A lock of one of five kinds, that protects nothing by itself.
pub struct AnyLock(LockOfKind);

enum LockOfKind {
    Pthread(PthreadMutex),
    Std(std::sync::Mutex<()>),
    ParkingLot(parking_lot::Mutex<()>),
    Fair(parking_lot::Mutex<()>),
}

/// A lock that is held, until this is dropped.
pub struct HeldLock<'l> {
    guard: Option<Guard<'l>>,
    /// It was held by a different thread when it was asked for.
    pub waited: bool,
}

/// Their own `drop` releases the lock.
enum Guard<'l> {
    Pthread(#[expect(dead_code)] PthreadGuard<'l>),
    Std(#[expect(dead_code)] MutexGuard<'l, ()>),
    ParkingLot(#[expect(dead_code)] parking_lot::MutexGuard<'l, ()>),
    Fair(parking_lot::MutexGuard<'l, ()>),
}

impl AnyLock {
    pub fn new(kind: LockKind) -> Self {
        Self(match kind {
            LockKind::Adaptive => LockOfKind::Pthread(PthreadMutex::adaptive()),
            LockKind::Normal => LockOfKind::Pthread(PthreadMutex::normal()),
            LockKind::Std => LockOfKind::Std(std::sync::Mutex::new(())),
            LockKind::ParkingLot => LockOfKind::ParkingLot(parking_lot::Mutex::new(())),
            LockKind::Fair => LockOfKind::Fair(parking_lot::Mutex::new(())),
        })
    }

    /// Takes it, and returns whether that took a wait. All of them try once before they wait, so
    /// the first try here adds no cost.
    #[inline]
    pub fn hold(&self) -> HeldLock<'_> {
        let (guard, waited) = match &self.0 {
            LockOfKind::Pthread(lock) => {
                let waited = !lock.try_lock();
                if waited {
                    lock.lock();
                }
                (Guard::Pthread(PthreadGuard(lock)), waited)
            }
            LockOfKind::Std(lock) => match lock.try_lock() {
                Ok(guard) => (Guard::Std(guard), false),
                Err(_) => {
                    let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
                    (Guard::Std(guard), true)
                }
            },
            LockOfKind::ParkingLot(lock) => match lock.try_lock() {
                Some(guard) => (Guard::ParkingLot(guard), false),
                None => (Guard::ParkingLot(lock.lock()), true),
            },
            LockOfKind::Fair(lock) => match lock.try_lock() {
                Some(guard) => (Guard::Fair(guard), false),
                None => (Guard::Fair(lock.lock()), true),
            },
        };
        HeldLock {
            guard: Some(guard),
            waited,
        }
    }
}

impl Drop for HeldLock<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(Guard::Fair(guard)) = self.guard.take() {
            // It stays locked, and is the next one's.
            parking_lot::MutexGuard::unlock_fair(guard);
        }
    }
}

struct PthreadMutex(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a pthread mutex is made to be used by all threads through its address.
unsafe impl Sync for PthreadMutex {}
// SAFETY: it is moved only before anybody has locked it: `AnyLock::hold` borrows it.
unsafe impl Send for PthreadMutex {}

impl PthreadMutex {
    const fn adaptive() -> Self {
        Self(UnsafeCell::new(libc::PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP))
    }

    const fn normal() -> Self {
        Self(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER))
    }

    #[inline]
    fn try_lock(&self) -> bool {
        // SAFETY: the mutex was initialised and lives.
        unsafe { libc::pthread_mutex_trylock(self.0.get()) == 0 }
    }

    #[inline]
    fn lock(&self) {
        // SAFETY: as above. These two types fail for no reason that could be here.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
    }
}

struct PthreadGuard<'l>(&'l PthreadMutex);

impl Drop for PthreadGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this thread made the guard and has locked the mutex: like the guards of std and
        // parking_lot, a `HeldLock` cannot be sent to a different thread.
        unsafe { libc::pthread_mutex_unlock(self.0.0.get()) };
    }
}

/// The lock of the index: a pthread rwlock, like MyISAM's. The model never writes, so no thread
/// waits for it; but all who read change the one word in it.
pub struct IndexLock(UnsafeCell<libc::pthread_rwlock_t>);

// SAFETY: see `PthreadMutex`.
unsafe impl Sync for IndexLock {}
// SAFETY: see `PthreadMutex`.
unsafe impl Send for IndexLock {}

/// The index is being read, until this is dropped.
pub struct ReadsIndex<'l> {
    lock: &'l IndexLock,
    /// The thread that has locked it unlocks it.
    _not_sent: PhantomData<*const ()>,
}

impl IndexLock {
    pub const fn new() -> Self {
        Self(UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER))
    }

    #[inline]
    pub fn read(&self) -> ReadsIndex<'_> {
        // SAFETY: the lock was initialised and lives. It fails only with more readers than there
        // can be threads.
        unsafe { libc::pthread_rwlock_rdlock(self.0.get()) };
        ReadsIndex {
            lock: self,
            _not_sent: PhantomData,
        }
    }
}

impl Drop for ReadsIndex<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this thread holds it for reading.
        unsafe { libc::pthread_rwlock_unlock(self.lock.0.get()) };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::Arc;
    use std::sync::mpsc;

    const ALL: [LockKind; 5] = [
        LockKind::Adaptive,
        LockKind::Normal,
        LockKind::Std,
        LockKind::ParkingLot,
        LockKind::Fair,
    ];

    /// A number that only the lock keeps whole.
    struct Counted(AnyLock, UnsafeCell<u64>);
    // SAFETY: only the thread that holds the lock touches the number.
    unsafe impl Sync for Counted {}

    #[test]
    fn one_thread_at_a_time_holds_a_lock() {
        for kind in ALL {
            let counted = Counted(AnyLock::new(kind), UnsafeCell::new(0));
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    let counted = &counted;
                    scope.spawn(move || {
                        for _ in 0..20_000 {
                            let held = counted.0.hold();
                            // SAFETY: the lock is held.
                            unsafe { *counted.1.get() += 1 };
                            drop(held);
                        }
                    });
                }
            });
            assert_eq!(counted.1.into_inner(), 80_000, "{kind:?}");
        }
    }

    #[test]
    fn who_finds_a_lock_taken_waits_and_says_so() {
        for kind in ALL {
            let lock = Arc::new(AnyLock::new(kind));
            let held = lock.hold();
            assert!(!held.waited);
            let (sender, said) = mpsc::channel();
            let other = Arc::clone(&lock);
            let thread = std::thread::spawn(move || {
                sender.send(None).unwrap();
                sender.send(Some(other.hold().waited)).unwrap();
            });
            assert_eq!(said.recv(), Ok(None));
            // The message does not come before the lock is released.
            let early = said.recv_timeout(std::time::Duration::from_millis(20));
            assert!(early.is_err(), "{kind:?}");
            drop(held);
            assert_eq!(said.recv(), Ok(Some(true)), "{kind:?}");
            thread.join().unwrap();
        }
    }

    #[test]
    fn many_read_an_index_at_once() {
        let lock = IndexLock::new();
        let (first, second) = (lock.read(), lock.read());
        drop((first, second));
        std::thread::scope(|scope| {
            scope.spawn(|| drop(lock.read()));
        });
    }
}
