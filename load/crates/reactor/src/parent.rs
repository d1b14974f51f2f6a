//! Ending with the process that started us: a load that outlives its lab disturbs the next one.

use rustix::process::{Signal, set_parent_process_death_signal};
use std::io;

/// Has the kernel kill this process when the process `pid`, which must be our parent, ends.
///
/// # Errors
/// It ended already, or the kernel refuses.
pub fn die_with(pid: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // Looked at after asking, so that no moment is left in which it may end unnoticed.
    if std::os::unix::process::parent_id() == pid {
        return Ok(());
    }
    set_parent_process_death_signal(None)?;
    Err(io::Error::other(format!("process {pid} is not the parent")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rustix::process::parent_process_death_signal;

    #[test]
    fn another_process_is_refused_and_leaves_no_signal() {
        assert!(die_with(std::process::id()).is_err());
        assert_eq!(parent_process_death_signal().unwrap(), None);
    }
}
