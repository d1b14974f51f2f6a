//! Waits for one or a few descriptors. The event loop of a run has its own engines; this is for all
//! other work.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use std::os::fd::AsFd;
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
