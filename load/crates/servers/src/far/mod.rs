//! A delay line: a proxy that delays the bytes between a client and a server. A client on the same
//! host then sees the round trip of a distant one.
//!
//! Bytes pass unchanged and in order; each direction takes half of the round trip. The line cannot
//! be on time to the nanosecond, so it records how late bytes left. Opening a connection is not
//! delayed by TCP's handshake, since the kernel accepts the client at once.

mod pair;
mod pipe;
mod punctual;
mod worker;

use crate::listen;
use contend_client::failure;
use contend_figures::outcome::Failure;
use contend_figures::{Latency, Sum};
use contend_reactor::clock::process_cpu_ns;
use contend_reactor::inbox::Inbox;
use contend_reactor::limits;
pub use contend_reactor::listeners::Listening;
use contend_reactor::socket::Address;
use pair::Side;
use pipe::Passed;
use std::io::{self, BufRead as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use worker::LineWorker;

/// How long the server may take to accept the test connection at the start.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The settings of a delay line: its server, where it listens, and how long it delays.
#[derive(Clone, Debug)]
pub struct DelayLine {
    /// The server behind it.
    pub target: Address,
    pub socket: Option<PathBuf>,
    /// On the loopback address only; 0 takes a free port.
    pub port: Option<u16>,
    pub round_trip_ns: u64,
    pub threads: u32,
}

/// What one worker passed on.
#[derive(Clone, Debug, Default, PartialEq)]
struct LineFigures {
    connections: u64,
    refused: u64,
    refusal: Option<String>,
    to_server: Passed,
    to_client: Passed,
}

impl LineFigures {
    fn towards(&mut self, side: Side) -> &mut Passed {
        match side {
            Side::Server => &mut self.to_server,
            Side::Client => &mut self.to_client,
        }
    }
}

/// What the line did since the last report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineReport {
    pub connections: u64,
    /// Clients that were refused because the server could not be reached; `refusal` is the reason
    /// for the last one.
    pub refused: u64,
    pub refusal: Option<String>,
    pub bytes_to_server: u64,
    pub bytes_to_client: u64,
    /// How much later than due bytes left, in both directions.
    pub late: Latency,
    /// CPU time of the whole process.
    pub cpu_ns: u64,
}

impl LineReport {
    fn add(&mut self, figures: LineFigures) {
        self.connections += figures.connections;
        self.refused += figures.refused;
        self.refusal = figures.refusal.or(self.refusal.take());
        self.bytes_to_server += figures.to_server.bytes;
        self.bytes_to_client += figures.to_client.bytes;
        self.late.merge(&figures.to_server.late);
        self.late.merge(&figures.to_client.late);
    }
}

/// Collects the figures of all workers for a report, and resets them.
#[derive(Clone)]
struct LineBooks {
    figures: Vec<Arc<Mutex<LineFigures>>>,
    cpu_ns: Arc<Mutex<u64>>,
}

impl LineBooks {
    fn take(&self) -> LineReport {
        let mut report = LineReport::default();
        for figures in &self.figures {
            let mut figures = figures.lock().unwrap_or_else(PoisonError::into_inner);
            report.add(std::mem::take(&mut *figures));
        }
        let cpu_ns = process_cpu_ns(std::process::id()).unwrap_or(0);
        let mut before_ns = self.cpu_ns.lock().unwrap_or_else(PoisonError::into_inner);
        report.cpu_ns = cpu_ns.saturating_sub(std::mem::replace(&mut *before_ns, cpu_ns));
        report
    }
}

/// Called with each report that was asked for.
pub type Tell = Box<dyn FnMut(LineReport) + Send>;

/// Runs the delay line until `stop` is set, and returns the bytes passed since the last report.
/// Calls `ready` with the addresses once clients can connect. With `requests`, each line of
/// standard input asks for a report, and the end of the input sets `stop`.
///
/// # Errors
/// The server cannot be reached, the line cannot listen there, or a thread cannot be started.
pub fn stand(
    line: &DelayLine,
    ready: &mut dyn FnMut(&Listening),
    requests: Option<Tell>,
    stop: &Arc<AtomicBool>,
) -> Result<LineReport, Failure> {
    limits::make_all_the_room();
    look_for(&line.target)?;
    let listeners = listen(line.socket.as_deref(), line.port)?;
    let failed = |error: io::Error| Failure::plain(format!("starting a thread: {error}"));
    let mut inboxes = Vec::new();
    let mut threads = Vec::new();
    let mut books = LineBooks {
        figures: Vec::new(),
        cpu_ns: Arc::default(),
    };
    for number in 0..line.threads.max(1) {
        let inbox = Arc::new(Inbox::new().map_err(failed)?);
        let figures = Arc::new(Mutex::new(LineFigures::default()));
        let worker = LineWorker::new(
            Arc::clone(&inbox),
            Arc::clone(&figures),
            line.target.clone(),
            line.round_trip_ns / 2,
        )
        .map_err(failed)?;
        books.figures.push(figures);
        inboxes.push(inbox);
        let thread = std::thread::Builder::new().name(format!("far-{number}"));
        threads.push(thread.spawn(move || worker.run()).map_err(failed)?);
    }
    ready(listeners.listening());
    if let Some(tell) = requests {
        let (books, stop) = (books.clone(), Arc::clone(stop));
        // This thread ends when standard input ends, or with the program.
        std::thread::Builder::new()
            .name("requests".to_owned())
            .spawn(move || answer_requests(&books, tell, &stop))
            .map_err(failed)?;
    }
    listeners.admit_until(stop, &inboxes);
    for inbox in &inboxes {
        inbox.close();
    }
    for thread in threads {
        // A worker that panicked has closed its connections; its figures can still be read.
        let _ = thread.join();
    }
    Ok(books.take())
}

fn answer_requests(books: &LineBooks, mut tell: Tell, stop: &AtomicBool) {
    for line in io::stdin().lock().lines() {
        if line.is_err() {
            break;
        }
        tell(books.take());
    }
    stop.store(true, Ordering::Relaxed);
}

/// Checks that the server can be reached, so that a wrong address is found before a client comes.
fn look_for(target: &Address) -> Result<(), Failure> {
    match target.connect_by(Instant::now() + CONNECT_TIMEOUT) {
        Ok(socket) => match rustix::net::sockopt::socket_error(&socket) {
            Ok(Err(error)) => Err(failure::of_connect(target, &error.into())),
            _ => Ok(()),
        },
        Err(error) => Err(failure::of_connect(target, &error)),
    }
}

#[cfg(test)]
mod tests;
