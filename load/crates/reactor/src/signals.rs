//! SIGINT and SIGTERM as messages: a run that is asked to end still reports. And ending with the
//! process that started us: a load that outlives its lab disturbs the next one.

use rustix::process::{Signal, set_parent_process_death_signal};
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag::register_conditional_default;
use signal_hook::iterator::{Handle, Signals as Arriving};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

const BOTH: [i32; 2] = [SIGINT, SIGTERM];

/// Without a listener the two signals end the process, as they do by default.
static UNHEARD: AtomicBool = AtomicBool::new(true);

/// While this lives the two signals are reported and do not end the process. Only one exists.
pub struct Signals(#[expect(dead_code)] SignalThread);

/// Tells of signals, on a thread of its own, until it is dropped.
pub struct SignalThread {
    arriving: Handle,
    thread: Option<JoinHandle<()>>,
}

impl SignalThread {
    /// Calls `tell` at every SIGUSR1.
    ///
    /// # Errors
    /// Like [`Signals::listen`].
    pub fn on_usr1(mut tell: impl FnMut() + Send + 'static) -> io::Result<Self> {
        Self::listen(&[SIGUSR1], move || {
            tell();
            true
        })
    }

    fn listen(
        signals: &[i32],
        mut tell: impl FnMut() -> bool + Send + 'static,
    ) -> io::Result<Self> {
        let mut signals = Arriving::new(signals)?;
        let arriving = signals.handle();
        let thread = std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || while signals.forever().next().is_some() && tell() {})?;
        Ok(Self {
            arriving,
            thread: Some(thread),
        })
    }
}

impl Signals {
    /// Calls `tell` for each signal, on a thread of its own, until it returns false.
    ///
    /// # Errors
    /// The kernel refuses the descriptors or the thread.
    pub fn listen(tell: impl FnMut() -> bool + Send + 'static) -> io::Result<Self> {
        end_if_unheard()?;
        let signals = Self(SignalThread::listen(&BOTH, tell)?);
        UNHEARD.store(false, Ordering::SeqCst);
        Ok(signals)
    }

    /// Raises `stop` at each signal.
    ///
    /// # Errors
    /// Like [`Self::listen`].
    pub fn raise(stop: &Arc<AtomicBool>) -> io::Result<Self> {
        let stop = Arc::clone(stop);
        Self::listen(move || {
            stop.store(true, Ordering::Relaxed);
            true
        })
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // The thread ends when the inner value is dropped.
        UNHEARD.store(true, Ordering::SeqCst);
    }
}

impl Drop for SignalThread {
    fn drop(&mut self) {
        self.arriving.close();
        if let Some(thread) = self.thread.take() {
            // It only waits and sends; it has nothing to panic about.
            let _ = thread.join();
        }
    }
}

/// The library keeps a signal that it has taken over, so it must perform the default action.
fn end_if_unheard() -> io::Result<()> {
    static ASKED: Mutex<bool> = Mutex::new(false);
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    if !*asked {
        for signal in BOTH {
            register_conditional_default(signal, &UNHEARD)?;
        }
        *asked = true;
    }
    Ok(())
}

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
    use rustix::process::{getpid, kill_process, parent_process_death_signal};
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Command, Stdio};
    use std::sync::mpsc;

    const CHILD: &str = "CONTEND_TEST_SIGNALS_CHILD";

    /// Receives a signal twice, and then listens no more.
    fn child() {
        for signal in [Signal::INT, Signal::TERM] {
            let (sender, told) = mpsc::channel();
            let signals = Signals::listen(move || sender.send(()).is_ok()).unwrap();
            kill_process(getpid(), signal).unwrap();
            assert_eq!(told.recv(), Ok(()));
            drop(signals);
        }
        kill_process(getpid(), Signal::TERM).unwrap();
    }

    #[test]
    fn a_signal_is_told_as_long_as_somebody_listens_and_ends_the_process_then() {
        if std::env::var_os(CHILD).is_some() {
            return child();
        }
        let name = "a_signal_is_told_as_long_as_somebody_listens_and_ends_the_process_then";
        // A process of its own: a signal is everybody's.
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("signals::tests::{name}")])
            .env(CHILD, "1")
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.signal(), Some(SIGTERM));
    }

    #[test]
    fn another_process_is_refused_and_leaves_no_signal() {
        assert!(die_with(std::process::id()).is_err());
        assert_eq!(parent_process_death_signal().unwrap(), None);
    }
}
