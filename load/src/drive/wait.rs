//! Waits for one or a few descriptors. The event loop of a run has its own engines; this is for
//! the work beside it.

use std::os::fd::RawFd;
use std::time::Duration;

/// True as soon as one of the descriptors is ready for its events, or broken; false after `within`
/// at the latest.
pub fn any_ready(files: &[(RawFd, i16)], within: Duration) -> bool {
    let mut watched: Vec<libc::pollfd> = files
        .iter()
        .map(|(fd, events)| libc::pollfd {
            fd: *fd,
            events: *events,
            revents: 0,
        })
        .collect();
    // Rounded up: a wait of half a millisecond must not become a busy loop.
    let milliseconds = within.as_micros().div_ceil(1000);
    let milliseconds = libc::c_int::try_from(milliseconds).unwrap_or(libc::c_int::MAX);
    // SAFETY: the pointer and length are those of a live vector.
    let ready = unsafe {
        libc::poll(
            watched.as_mut_ptr(),
            watched.len() as libc::nfds_t,
            milliseconds,
        )
    };
    ready > 0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn one_of_several_is_enough_and_none_is_not() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let (idle, _idle_far) = UnixStream::pair().unwrap();
        let files = [
            (idle.as_raw_fd(), libc::POLLIN),
            (near.as_raw_fd(), libc::POLLIN),
        ];
        assert!(!any_ready(&files, Duration::from_micros(1)));
        far.write_all(b"x").unwrap();
        assert!(any_ready(&files, Duration::from_secs(60)));
        drop(far);
        assert!(any_ready(&files, Duration::from_secs(60)));
    }
}
