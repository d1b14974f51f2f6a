//! sysbench's scripts on LuaJIT: the interface that a script sees, and the threads that run it.

pub mod cli;
pub mod host;
pub mod lua;
