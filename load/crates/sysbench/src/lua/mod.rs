//! The script host: sysbench's Lua interface on LuaJIT.
//!
//! Each thread of a script has a [`State`] of its own; the states share a [`run::Run`] and nothing
//! else. The functions that a script calls are in [`api`]. Calls that have to wait go through
//! [`thread_io::ThreadIo`]. The Lua part of the interface is in `load/lua/api`, the scripts that
//! come with the program are in `load/lua/scripts`.
//!
//! This module opens no sockets and starts no threads.

mod api;
pub mod chunks;
mod context;
pub mod database;
mod error;
pub mod fiber;
pub mod figures;
mod fixed;
mod heap;
pub mod histogram;
pub mod loaded;
pub mod log;
pub mod modules;
pub mod native_stack;
pub mod options;
mod protected;
pub mod run;
pub mod sql;
mod stack;
mod state;
pub mod states;
pub mod stopping;
mod sys;
#[cfg(test)]
pub mod testing;
pub mod thread;
pub mod thread_io;
pub mod workload;

pub use error::ScriptError;
pub use state::{Called, Sharing, State};

/// Version of LuaJIT that this program contains.
pub fn luajit_version() -> &'static str {
    env!("LUAJIT_VERSION")
}
