//! Runs the threads of a script: on the event loop, or on threads of the operating system where
//! the script waits in ways that the host cannot see. Either way a run is told a [`super::job::Job`]
//! and comes to a [`super::measured::Measured`], as every other.

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
pub use measure::{Hosted, failure_of, measure, run};
pub use os_threads::run_command;

use super::job::Several;
use crate::reactor::socket::Address;
use crate::talk::Target;
use crate::wire::mysql::{Credentials, Options};
use std::time::Duration;

/// How a script reaches its servers. The places of `addresses` are those of the run's endpoints.
#[derive(Clone, Debug)]
pub struct Servers {
    pub addresses: Vec<Address>,
    pub credentials: Credentials,
    pub options: Options,
    pub connect_timeout: Duration,
}

impl Servers {
    /// All of them.
    pub fn targets(&self) -> Several<Target> {
        let addresses = Several::of(self.addresses.iter().cloned());
        // A script may connect to nothing at all.
        let addresses = addresses.unwrap_or_else(|| Several::one(Address::Unix("/".into())));
        addresses.map(|address| self.target(address))
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
