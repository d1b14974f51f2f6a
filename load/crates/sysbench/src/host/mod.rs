//! Runs the threads of a script: on the event loop, or on threads of the operating system where the
//! script waits in ways that the host cannot see. Either way a run gets a [`contend_engine::job::Job`] and
//! returns a [`contend_engine::measured::Measured`], like every run.

mod alarm;
mod blocking_io;
mod cpu;
mod fill;
mod gate;
mod measure;
mod os_threads;
mod recorder;
pub mod threads;

pub use alarm::Alarm;
pub use blocking_io::BlockingIo;
pub use contend_client::target::Servers;
pub use measure::{Hosted, failure_of, measure, run};
pub use os_threads::run_command;

use contend_client::Target;
use contend_engine::job::Several;
use contend_reactor::socket::Address;

/// All servers, for a run whose places are those of the script's endpoints.
pub fn targets(servers: &Servers) -> Several<Target> {
    let addresses = Several::of(servers.addresses.iter().cloned());
    // A script may connect to nothing at all.
    let addresses = addresses.unwrap_or_else(|| Several::one(Address::Unix("/".into())));
    addresses.map(|address| servers.target(address))
}
