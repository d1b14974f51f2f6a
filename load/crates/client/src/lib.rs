//! A conversation with a server, and its failures as text.
//!
//! A [`Dialect`](dialect::Dialect) is the protocol side of one connection: bytes in, bytes out; a
//! [`Link`](link::Link) is MySQL's. A [`blocking`](blocking::BlockingLink) link has its socket with
//! it, on which every call waits. [`target`] reads a plan's servers, [`tls`] the files that TLS
//! needs.
//!
//! ```no_run
//! use contend_client::blocking::{ControlConnection, endless};
//! # fn ask(target: &contend_client::Target) -> Result<(), contend_figures::outcome::Failure> {
//! let mut connection = ControlConnection::open(target)?;
//! let rows = connection.rows("SELECT VERSION()", &mut endless)?;
//! # Ok(()) }
//! ```

pub mod blocking;
pub mod dialect;
pub mod failure;
pub mod handler_socket;
pub mod link;
pub mod request;
pub mod target;
pub mod tls;

pub use target::Target;
