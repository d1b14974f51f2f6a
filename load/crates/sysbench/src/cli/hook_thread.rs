//! Hooks that report while a run goes on, each on a thread of its own. One that waits or computes
//! holds up neither the run nor its end.

use super::report_sums::ReportFigures;
use crate::host::Servers;
use crate::lua::native_stack::STACK_BYTES;
use crate::lua::run::Run;
use crate::lua::{ScriptError, State, thread};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Instant;

/// Calls one hook, again and again.
#[derive(Debug)]
pub struct HookThread {
    /// None once there are no more.
    figures: Option<Sender<ReportFigures>>,
    /// Hangs up when the thread ends.
    ended: Receiver<()>,
    thread: JoinHandle<()>,
}

impl HookThread {
    /// `call` calls the hook in the thread's own state. With `merges`, all that falls due meanwhile
    /// is one report, as under sysbench. None, with a message, if no thread can be started.
    pub fn start(
        run: &Arc<Run>,
        servers: &Servers,
        merges: bool,
        call: impl Fn(&State, &ReportFigures) + Send + 'static,
    ) -> Option<Self> {
        let (figures, sent) = mpsc::channel::<ReportFigures>();
        let (lives, ended) = mpsc::channel();
        let (of_run, servers) = (Arc::clone(run), servers.clone());
        let body = move || {
            if let Some(state) = report_state(&of_run, &servers) {
                while let Ok(mut figures) = sent.recv() {
                    if merges {
                        sent.try_iter().for_each(|next| figures.go_on(&next));
                    }
                    call(&state, &figures);
                }
            }
            drop::<Sender<()>>(lives);
        };
        let thread = std::thread::Builder::new()
            .name("report".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(body)
            .inspect_err(|error| run.log.fatal(&format!("starting a thread: {error}")))
            .ok()?;
        Some(Self {
            figures: Some(figures),
            ended,
            thread,
        })
    }

    /// Leaves figures to the hook; false if it cannot be called.
    pub fn send(&self, figures: ReportFigures) -> bool {
        let to = self.figures.as_ref();
        to.is_some_and(|to| to.send(figures).is_ok())
    }

    /// There are no more figures.
    pub fn close(&mut self) {
        self.figures = None;
    }

    /// Waits until the hook was called with all that it was left, and its state is closed. False
    /// if that is not done by `limit`: it is given up.
    pub fn end(mut self, limit: Instant) -> bool {
        self.close();
        let left = limit.saturating_duration_since(Instant::now());
        if self.ended.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
            return false;
        }
        // The thread itself has reported a panic.
        let _ = self.thread.join();
        true
    }
}

/// A state for hooks: the script in it, its thread number after those of the workers.
fn report_state(run: &Arc<Run>, servers: &Servers) -> Option<State> {
    let made = || -> Result<State, ScriptError> {
        let state = super::state(run, run.figures.threads.len() as u32, servers)?;
        thread::begin(&state, run)?;
        Ok(state)
    };
    made().inspect_err(|error| run.log.fatal(&error.0)).ok()
}
