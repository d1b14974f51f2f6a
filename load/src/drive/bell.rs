//! A bell: what wakes a thread that waits for descriptors.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Anybody who has it may ring.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// # Errors
    /// The kernel has no descriptor left.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the result is checked.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and nobody else has it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    pub fn ring(&self) {
        let one = 1u64;
        // SAFETY: an eventfd takes eight bytes, the pointer is to a live local of that size.
        // It only refuses when it is rung already.
        unsafe {
            libc::write(
                self.0.as_raw_fd(),
                (&raw const one).cast(),
                size_of::<u64>(),
            )
        };
    }

    /// A descriptor that is readable when the bell was rung.
    ///
    /// # Errors
    /// The kernel has no descriptor left.
    pub fn heard(&self) -> io::Result<OwnedFd> {
        self.0.try_clone()
    }
}
