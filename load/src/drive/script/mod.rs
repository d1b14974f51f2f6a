//! Runs the threads of a script: on the event loop, or on threads of the operating system where
//! the script waits in ways that the host cannot see.

mod blocking_io;
mod cpu;
mod fibers;
mod fill;
mod gate;
mod measure;
mod os_threads;
pub mod threads;
mod ticker;

pub use blocking_io::BlockingIo;
pub use measure::{failure_of, measure};
pub use os_threads::run_command;
pub use ticker::Ticker;

use super::blocking::Target;
use super::socket::Address;
use crate::lua::run::Run;
use crate::outcome::Failure;
use crate::wire::{Credentials, Options};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How a script reaches its servers. The places of `addresses` are those of the run's endpoints.
#[derive(Clone, Debug)]
pub struct Servers {
    pub addresses: Vec<Address>,
    pub credentials: Credentials,
    pub options: Options,
    pub connect_timeout: Duration,
}

impl Servers {
    /// The first, and the others.
    pub fn targets(&self) -> (Target, Vec<Target>) {
        let mut addresses = self.addresses.iter().cloned();
        // A script may connect to nothing at all.
        let first = addresses
            .next()
            .unwrap_or_else(|| Address::Unix("/".into()));
        let others = addresses.map(|address| self.target(address));
        (self.target(first), others.collect())
    }

    /// The server at this place, or the first; none if no server is named.
    pub fn at(&self, endpoint: usize) -> Option<Target> {
        let address = self.addresses.get(endpoint);
        let address = address.or_else(|| self.addresses.first())?;
        Some(self.target(address.clone()))
    }

    fn target(&self, address: Address) -> Target {
        Target {
            address,
            credentials: self.credentials.clone(),
            options: self.options.clone(),
            connect_timeout: self.connect_timeout,
        }
    }
}

/// A run of events.
pub struct Job {
    pub run: Arc<Run>,
    pub servers: Servers,
    pub threads: u32,
    pub warmup: Duration,
    /// None: until the events are done.
    pub time: Option<Duration>,
    /// How long a thread may still take for what it has begun when the time is over.
    pub drain: Duration,
    /// One thread of the operating system for each of the script's.
    pub os_threads: bool,
}

/// What is told while a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// All threads are ready; the load begins when this was heard.
    Ready,
    /// The warm-up is over, or was due to be at this moment.
    Measuring(Instant),
    /// The time is over; events that have begun may end.
    Over,
}

/// How a run went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Threads that had not ended when the drain was over.
    pub unfinished: u32,
    /// CPU that the busiest thread used between the end of the warm-up and that of the time.
    pub busiest_cpu_ns: u64,
}

/// Runs a job until every thread has ended, or cannot.
///
/// # Errors
/// A thread could not begin, which it said; or the run could not be set up.
pub fn run(job: Job, tell: &mut dyn FnMut(Stage)) -> Result<Ran, Failure> {
    if job.os_threads {
        os_threads::run(job, tell)
    } else {
        fibers::run(job, tell)
    }
}
