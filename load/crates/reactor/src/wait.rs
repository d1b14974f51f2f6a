//! Waits for one or a few descriptors, and the waker that ends another thread's wait. The event loop
//! of a run waits with its own engines; all other work waits here.

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::retry_on_intr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// True as soon as one of the descriptors is ready for its events, or broken; false after `within`
/// at the latest. A signal does not end the wait.
pub fn any_ready(files: &mut [PollFd<'_>], within: Duration) -> bool {
    // A time too long for the kernel's seconds means waiting for ever.
    let within = Timespec::try_from(within).ok();
    retry_on_intr(|| poll(files, within.as_ref())).is_ok_and(|ready| ready > 0)
}

/// True as soon as there is something to read, or nothing can come any more.
pub fn is_readable(file: &impl AsFd, within: Duration) -> bool {
    any_ready(&mut [PollFd::new(file, PollFlags::IN)], within)
}

/// True as soon as data can be written, or never again.
pub fn is_writable(file: &impl AsFd, within: Duration) -> bool {
    any_ready(&mut [PollFd::new(file, PollFlags::OUT)], within)
}

/// Wakes a thread that waits for descriptors. Every holder may wake it.
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// # Errors
    /// The kernel has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self(eventfd(0, flags)?))
    }

    pub fn wake(&self) {
        // It only refuses when the thread was woken already.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// A descriptor that is readable once [`Self::wake`] was called.
    ///
    /// # Errors
    /// The kernel has no descriptor left.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        self.0.try_clone()
    }
}

/// Makes the descriptor of a waker unreadable again.
pub fn clear(heard: &OwnedFd) {
    // It only refuses when there is nothing to read.
    let _ = rustix::io::read(heard, &mut [0; size_of::<u64>()]);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn one_of_several_is_enough_and_none_is_not() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let (idle, _idle_far) = UnixStream::pair().unwrap();
        let mut files = [&idle, &near].map(|file| PollFd::new(file, PollFlags::IN));
        assert!(!any_ready(&mut files, Duration::from_micros(1)));
        far.write_all(b"x").unwrap();
        assert!(any_ready(&mut files, Duration::from_secs(60)));
        drop(far);
        assert!(any_ready(&mut files, Duration::MAX));
        assert!(!is_readable(&idle, Duration::ZERO));
        assert!(is_writable(&idle, Duration::from_secs(60)));
    }
}
