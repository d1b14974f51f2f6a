//! SIGINT and SIGTERM as messages: a run that is asked to end still reports.

use super::bell::Bell;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::thread::JoinHandle;

/// While this lives the two signals do not end the process but are told. Make it before other
/// threads, which inherit that they do not take the signals.
pub struct Signals {
    before: libc::sigset_t,
    quit: Bell,
    thread: Option<JoinHandle<()>>,
}

impl Signals {
    /// Calls `tell` for each signal, on a thread of its own, until it returns false.
    ///
    /// # Errors
    /// The kernel refuses the descriptors or the thread.
    pub fn listen(tell: impl FnMut() -> bool + Send + 'static) -> io::Result<Self> {
        let set = both();
        let mut before = empty();
        // SAFETY: the pointers are to live locals.
        let blocked =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before) };
        if blocked != 0 {
            return Err(io::Error::from_raw_os_error(blocked));
        }
        // SAFETY: the pointer is to a live local; the result is checked.
        let signals = owned(unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC) })?;
        let quit = Bell::new()?;
        let heard_quit = quit.heard()?;
        let thread = std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || pass_on(&signals, &heard_quit, tell))?;
        Ok(Self {
            before,
            quit,
            thread: Some(thread),
        })
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.quit.ring();
        if let Some(thread) = self.thread.take() {
            // It only waits and sends; it has nothing to panic about.
            let _ = thread.join();
        }
        // SAFETY: the pointer is to a live set; no old one is wanted.
        unsafe {
            libc::pthread_sigmask(
                libc::SIG_SETMASK,
                &raw const self.before,
                std::ptr::null_mut(),
            );
        }
    }
}

fn pass_on(signals: &OwnedFd, quit: &OwnedFd, mut tell: impl FnMut() -> bool) {
    let watch = |fd: &OwnedFd| libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut watched = [watch(signals), watch(quit)];
    loop {
        // SAFETY: the pointer and length are those of a live array.
        unsafe { libc::poll(watched.as_mut_ptr(), watched.len() as libc::nfds_t, -1) };
        let [signal, quit] = watched.map(|file| file.revents != 0);
        if quit {
            return;
        }
        if signal {
            let mut record = [0u8; size_of::<libc::signalfd_siginfo>()];
            // SAFETY: the pointer and length are those of a live array.
            unsafe {
                libc::read(
                    signals.as_raw_fd(),
                    record.as_mut_ptr().cast(),
                    record.len(),
                )
            };
            if !tell() {
                return;
            }
        }
    }
}

fn empty() -> libc::sigset_t {
    // SAFETY: all zeroes is a valid value of this plain structure, and it is emptied properly.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        set
    }
}

fn both() -> libc::sigset_t {
    let mut set = empty();
    // SAFETY: the pointer is to a live local and the signals exist.
    unsafe {
        libc::sigaddset(&raw mut set, libc::SIGINT);
        libc::sigaddset(&raw mut set, libc::SIGTERM);
    }
    set
}

fn owned(fd: libc::c_int) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
