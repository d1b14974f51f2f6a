//! Ending with whoever started us: a load that outlives its lab disturbs the next one.

use std::io;

/// Has the kernel kill this process when the process `pid`, which must be our parent, ends.
///
/// # Errors
/// It ended already, or the kernel refuses.
pub fn die_with(pid: u32) -> io::Result<()> {
    die_by(libc::SIGKILL)?;
    // Looked at after asking, so that no moment is left in which it may end unnoticed.
    if std::os::unix::process::parent_id() == pid {
        return Ok(());
    }
    die_by(0)?;
    Err(io::Error::other(format!("process {pid} is not our parent")))
}

/// The signal that comes when the parent ends; 0 for none.
fn die_by(signal: libc::c_int) -> io::Result<()> {
    // SAFETY: no pointers; the result is checked.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn another_process_is_refused_and_leaves_no_signal() {
        assert!(die_with(std::process::id()).is_err());
        let mut signal: libc::c_int = -1;
        // SAFETY: the pointer is to a live local.
        let told = unsafe { libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut signal) };
        assert_eq!((told, signal), (0, 0));
    }
}
