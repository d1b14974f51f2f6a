//! Runs scripts from `init` to `done`, and commands of a script on threads of its own.

mod alarm;
mod blocking_io;
mod fill;
mod measure;
mod os_threads;

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
