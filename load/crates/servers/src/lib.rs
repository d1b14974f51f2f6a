//! Servers of ours: one that answers without looking, one whose truth is known, a line that delays
//! bytes, and one that reports its clocks.

pub mod clock;
pub mod event_loop;
pub mod far;
pub mod null_server;
pub mod serve;

use contend_figures::outcome::Failure;
use contend_reactor::doors::Doors;
use std::io::ErrorKind;
use std::path::Path;

/// Opens the listening sockets of a server. Port 0 takes a free port.
///
/// # Errors
/// The program cannot listen at the path or the port.
pub fn listen(socket: Option<&Path>, port: Option<u16>) -> Result<Doors, Failure> {
    Doors::open(socket, port).map_err(|error| Failure {
        hint: (error.kind() == ErrorKind::AddrInUse)
            .then(|| "another server is listening there; use a different address".to_owned()),
        ..Failure::plain(error.to_string())
    })
}
