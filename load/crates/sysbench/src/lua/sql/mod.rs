//! The database driver of scripts: connections, statements, results, and the rules for errors.
//!
//! All waiting goes through [`super::thread_io::ThreadIo`]; nothing here knows a socket or Lua.

mod bulk;
mod connection;
mod emulate;
mod faces;
mod param;
mod prepared;
mod statement;

pub use bulk::Bulk;
pub use connection::{CONNECTING, CallFailed, Connection, OfThread};
pub use faces::{ConnectionFace, DriverFace, HandleKind, ResultFace, RowValue, StatementFace};
pub use param::{Param, ParamKind, RawBind};
pub use statement::ScriptStatement;
