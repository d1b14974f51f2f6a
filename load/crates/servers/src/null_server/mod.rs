//! A server without a database: sockets and threads around the answers of [`crate::serve`].
//!
//! One thread accepts clients and hands each to the next worker. A worker has its own engine, its
//! own answers and its own clients, so requests of different workers share nothing. The null server
//! is meant to be cheaper than any real server: the throughput that a client reaches against it is
//! the client's own limit.

pub mod testing;
mod worker;

pub use contend_reactor::listeners::Listening;

use crate::listen;
use crate::serve::{Answering, Canned, Granted, ServicePace, ServiceTime, Stalls, Station};
use contend_figures::outcome::Failure;
use contend_figures::{Latency, Sum};
use contend_reactor::inbox::Inbox;
use contend_reactor::limits;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use worker::NullWorker;

/// The settings of a null server: how it answers, and where it listens.
#[derive(Clone, Debug)]
pub struct Service {
    pub socket: Option<PathBuf>,
    /// On the loopback address only; 0 takes a free port.
    pub port: Option<u16>,
    pub threads: u32,
    pub time: ServiceTime,
    pub stalls: Option<Stalls>,
    pub seed: u64,
    /// If set, a station serves the queries, by one worker; `threads` and `stalls` do not apply.
    pub servers: Option<StationServers>,
}

/// The settings of a [`Station`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationServers {
    pub count: u32,
    /// See [`Station::new`].
    pub turnaround_ns: u64,
}

/// The work that was served.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Served {
    pub connections: u64,
    pub queries: u64,
    /// How much later than due delayed answers left; none if no answer was delayed.
    pub late: Option<Latency>,
    /// The turnarounds that a station granted.
    pub granted: Option<Granted>,
}

impl Service {
    /// The pace of worker number `worker`.
    fn pace(&self, begun_ns: u64, worker: u32) -> ServicePace {
        match self.servers {
            Some(StationServers {
                count,
                turnaround_ns,
            }) => ServicePace::of_station(Station::new(count, self.time, self.seed, turnaround_ns)),
            None => ServicePace::new(
                self.time,
                self.stalls,
                begun_ns,
                self.seed,
                u64::from(worker),
            ),
        }
    }

    /// The number of worker threads. A station has one, since it has one queue.
    fn workers(&self) -> u32 {
        match self.servers {
            Some(_) => 1,
            None => self.threads.max(1),
        }
    }
}

/// Serves canned answers until `stop` is set. Calls `ready` with the addresses once clients can
/// connect.
///
/// # Errors
/// The server cannot listen there, or a worker cannot be started.
pub fn serve(
    service: &Service,
    ready: &mut dyn FnMut(&Listening),
    stop: &AtomicBool,
) -> Result<Served, Failure> {
    serve_answers(service, Canned::default, ready, stop)
}

/// Like [`serve`], with answers that each worker makes for itself.
fn serve_answers<A: Answering + Send + 'static>(
    service: &Service,
    make: impl Fn() -> A,
    ready: &mut dyn FnMut(&Listening),
    stop: &AtomicBool,
) -> Result<Served, Failure> {
    // The number of clients is not known, so the limit of open files is raised as far as it goes.
    // If that is too few, it shows when they connect.
    limits::make_all_the_room();
    let listeners = listen(service.socket.as_deref(), service.port)?;
    let begun_ns = contend_reactor::clock::now_ns();
    let failed = |error: io::Error| Failure::plain(format!("starting a worker: {error}"));
    let (mut inboxes, mut threads) = (Vec::new(), Vec::new());
    for number in 0..service.workers() {
        let inbox = Arc::new(Inbox::new().map_err(failed)?);
        inboxes.push(Arc::clone(&inbox));
        let worker =
            NullWorker::new(make(), service.pace(begun_ns, number), inbox).map_err(failed)?;
        let thread = std::thread::Builder::new().name(format!("null-{number}"));
        threads.push(thread.spawn(move || worker.run()).map_err(failed)?);
    }
    ready(listeners.listening());
    let mut served = Served {
        connections: listeners.admit_until(stop, &inboxes),
        ..Served::default()
    };
    inboxes.iter().for_each(|inbox| inbox.close());
    for thread in threads {
        // A worker that panicked has no counts to give.
        let counted = thread.join().unwrap_or_default();
        served.queries += counted.queries;
        // A station has one thread.
        served.granted = counted.granted;
        if let Some(late) = counted.late {
            served.late.get_or_insert_default().merge(&late);
        }
    }
    Ok(served)
}
