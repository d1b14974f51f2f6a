//! Servers of ours: one without tables, a line that delays bytes, and one that reports its clocks.
//!
//! [`serve`] is the server's side of the protocol without a socket: a client's bytes in, answers
//! out. [`null_server`] answers every statement at
//! once or after a service time; [`far`] stands between a client and a server.
//!
//! ```
//! let server = contend_servers::null_server::testing::NullServer::quick();
//! assert!(contend_client::blocking::ControlConnection::open(&server.target()).is_ok());
//! ```

pub mod clock;
pub mod far;
pub mod null_server;
pub mod serve;

use contend_figures::outcome::Failure;
use contend_reactor::listeners::Listeners;
use std::io::ErrorKind;
use std::path::Path;

/// Opens the listening sockets of a server. Port 0 takes a free port.
///
/// # Errors
/// The program cannot listen at the path or the port.
pub fn listen(socket: Option<&Path>, port: Option<u16>) -> Result<Listeners, Failure> {
    Listeners::open(socket, port).map_err(|error| Failure {
        hint: (error.kind() == ErrorKind::AddrInUse)
            .then(|| "another server is listening there; use a different address".to_owned()),
        ..Failure::plain(error.to_string())
    })
}
