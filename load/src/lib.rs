//! `contend-load`: one plan in (JSON), outcomes out (JSON lines). Here are the command lines and
//! what they print; the rest is in the crates of `load/crates`.

pub mod cli;
pub mod cpus;
