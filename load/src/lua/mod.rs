//! The script host: sysbench's Lua interface on LuaJIT.
//!
//! A script is run by as many [`State`]s as it has threads, which share a [`Run`] and nothing
//! else. What a script calls is a function of [`api`]; what waits goes through a
//! [`io::ThreadIo`]. The part of the interface that is Lua lies in `load/lua/api`, the scripts
//! that come with the program in `load/lua/scripts`.
//!
//! No socket and no thread is opened here.

mod api;
pub mod chunks;
mod context;
pub mod database;
pub mod fiber;
pub mod figures;
mod fixed;
mod heap;
pub mod histogram;
pub mod log;
pub mod modules;
pub mod options;
pub mod run;
pub mod sql;
mod stack;
mod state;
mod sys;
#[cfg(test)]
pub mod testing;
pub mod thread;
pub mod thread_io;
pub mod workload;

pub use state::{Called, ScriptError, Sharing, State};

/// Version of the LuaJIT inside.
pub fn luajit_version() -> &'static str {
    env!("LUAJIT_VERSION")
}
