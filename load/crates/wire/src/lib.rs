//! Client protocols, without a socket, a file or a clock: bytes in, bytes and meanings out.
//!
//! [`mysql`] is the protocol of MariaDB and MySQL with logging in, TLS and compression;
//! [`handler_socket`] is the one of HandlerSocket. The terms that both share are next to them.
//! Nothing that a server sends can cause a panic or make memory grow.
//!
//! ```
//! let mut packet = Vec::new();
//! contend_wire::mysql::command::query(&mut packet, b"SELECT 1");
//! assert_eq!(packet, b"\x09\0\0\0\x03SELECT 1");
//! ```

pub mod common;
pub mod error;
pub mod handler_socket;
pub mod mysql;
pub mod value;

pub use common::{Capabilities, Credentials, Flavour, Prepared, Summary};
pub use error::{ServerError, WireError, client_error};
pub use value::{Date, Time, Value};
