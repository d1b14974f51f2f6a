//! A bell wakes a thread that waits for descriptors.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;

/// Every holder may ring.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// # Errors
    /// The kernel has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self(eventfd(0, flags)?))
    }

    pub fn ring(&self) {
        // It only refuses when it is rung already.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// A descriptor that is readable when the bell was rung.
    ///
    /// # Errors
    /// The kernel has no descriptor left.
    pub fn heard(&self) -> io::Result<OwnedFd> {
        self.0.try_clone()
    }
}

/// Makes a bell that was rung silent again.
pub fn hush(heard: &OwnedFd) {
    // It only refuses when there is nothing to read.
    let _ = rustix::io::read(heard, &mut [0; size_of::<u64>()]);
}
