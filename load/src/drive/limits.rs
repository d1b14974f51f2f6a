//! The limit of open files of this process, raised before connections are opened.

use std::io;

/// Files that are open beside the connections: standard streams, event queues, logs, probes.
const FILES_BESIDE: u64 = 64;

/// Makes room for `connections` sockets by raising the soft limit as far as the hard one allows.
///
/// # Errors
/// The limit that stands in the way, as `Err(Ok(limit))`, or the failure of the call.
pub fn make_room_for(connections: u64) -> Result<(), TooFewFiles> {
    let wanted = connections.saturating_add(FILES_BESIDE);
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the pointer is to a live local.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return Err(TooFewFiles::Unreadable(io::Error::last_os_error()));
    }
    if limit.rlim_cur >= wanted {
        return Ok(());
    }
    if limit.rlim_max < wanted {
        return Err(TooFewFiles::Hard {
            limit: limit.rlim_max,
            wanted,
        });
    }
    limit.rlim_cur = wanted;
    // SAFETY: the pointer is to a live local.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } != 0 {
        return Err(TooFewFiles::Unreadable(io::Error::last_os_error()));
    }
    Ok(())
}

/// Raises the soft limit to the hard one, for a process that cannot know how many will come.
pub fn make_all_the_room() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the pointers are to a live local.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            // Where it is refused the limit stays as it was, and is met when it is met.
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Why there is no room for so many connections.
#[derive(Debug, thiserror::Error)]
pub enum TooFewFiles {
    #[error("{wanted} open files are needed and the hard limit is {limit}")]
    Hard { limit: u64, wanted: u64 },
    #[error("the limit of open files cannot be read or raised: {0}")]
    Unreadable(io::Error),
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_few_connections_always_fit() {
        assert!(make_room_for(10).is_ok());
    }

    #[test]
    fn more_than_the_hard_limit_is_named() {
        let refused = make_room_for(u64::MAX / 4);
        // Where the hard limit is "unlimited" the kernel's own ceiling refuses instead.
        assert!(refused.is_err());
    }
}
