//! Client protocols, without a socket, a file or a clock: bytes in, bytes and meanings out. Each has
//! a folder; what all of them can fail with is the same.

pub mod error;
pub mod handler_socket;
pub mod mysql;

pub use error::{ServerError, WireError, client_error};
