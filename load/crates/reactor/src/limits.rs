//! The limit of open files of this process, raised before connections are opened.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// Open files besides the connections: standard streams, event queues, logs, probes.
const FILES_BESIDE: u64 = 64;

/// Makes room for `connections` sockets by raising the soft limit as far as the hard one allows.
///
/// # Errors
/// The limit that is too low, or the failure of the call.
pub fn make_room_for(connections: u64) -> Result<(), TooFewFiles> {
    let wanted = connections.saturating_add(FILES_BESIDE);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // None means no limit.
    match (current, maximum) {
        (None, _) => Ok(()),
        (Some(limit), _) if limit >= wanted => Ok(()),
        (_, Some(limit)) if limit < wanted => Err(TooFewFiles::Hard { limit, wanted }),
        _ => raise(Some(wanted), maximum).map_err(TooFewFiles::Fixed),
    }
}

/// Raises the soft limit to the hard one, for a process with an unknown number of clients.
pub fn make_all_the_room() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    // If the kernel refuses, the limit does not change, and a later open may fail.
    let _ = raise(maximum, maximum);
}

/// Makes the allocator take pieces of at least `bytes` zeroed from the kernel, and return them when
/// freed. It keeps up to twice as much of smaller ones. By default it keeps 32 MB for each thread.
pub fn give_back_from(bytes: i32) {
    // SAFETY: the allocator changes numbers of its own. If it refuses, it keeps more.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, bytes);
        libc::mallopt(libc::M_TRIM_THRESHOLD, bytes.saturating_mul(2));
    }
}

fn raise(current: Option<u64>, maximum: Option<u64>) -> io::Result<()> {
    Ok(setrlimit(Resource::Nofile, Rlimit { current, maximum })?)
}

/// Why there is no room for the wanted number of connections.
#[derive(Debug, thiserror::Error)]
pub enum TooFewFiles {
    #[error("{wanted} open files are needed, but the hard limit is {limit}")]
    Hard { limit: u64, wanted: u64 },
    #[error("cannot raise the limit of open files: {0}")]
    Fixed(io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_connections_always_fit() {
        assert!(make_room_for(10).is_ok());
    }

    #[test]
    fn more_than_the_hard_limit_is_named() {
        // If the hard limit is "unlimited" the kernel's own ceiling refuses instead.
        assert!(make_room_for(u64::MAX / 4).is_err());
    }
}
