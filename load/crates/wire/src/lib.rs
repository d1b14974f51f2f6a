//! Client protocols, without a socket, a file or a clock: bytes in, bytes and meanings out. Each
//! has a folder or a file; the terms that all of them share are next to those.

pub mod common;
pub mod error;
pub mod handler_socket;
pub mod mysql;
pub mod value;

pub use common::{Capabilities, Credentials, Flavour, Prepared, Summary};
pub use error::{ServerError, WireError, client_error};
pub use value::{Date, Time, Value};
