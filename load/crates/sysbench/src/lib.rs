//! sysbench's scripts on LuaJIT: the interface that a script sees, the threads that run it, and the
//! command line.
//!
//! [`lua`] is the interface: a state per thread, functions that yield where they would wait.
//! [`host`] runs the threads of a script, on the event loop or on threads of their own. [`cli`] is
//! `contend-load sysbench …`.
//!
//! ```
//! println!("{}", contend_sysbench::lua::luajit_version());
//! ```

pub mod cli;
pub mod host;
pub mod lua;
