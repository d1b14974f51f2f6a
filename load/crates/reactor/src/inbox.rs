//! How clients get from the thread that accepts them to the worker that serves them.

use super::wait::Waker;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Where the accepting thread leaves clients.
pub struct Inbox {
    clients: Mutex<Vec<(u32, OwnedFd)>>,
    closed: AtomicBool,
    waker: Waker,
}

impl Inbox {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            clients: Mutex::new(Vec::new()),
            closed: AtomicBool::new(false),
            waker: Waker::new()?,
        })
    }

    /// A descriptor that is readable when there is something new.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        self.waker.descriptor()
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    pub fn put(&self, number: u32, client: OwnedFd) {
        self.clients
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((number, client));
        self.waker.wake();
    }

    /// No more clients come, and those already in the inbox are sent away.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.waker.wake();
    }

    /// The clients that came since the last call, with their numbers.
    pub fn take(&self) -> Vec<(u32, OwnedFd)> {
        std::mem::take(&mut self.clients.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
