//! `contend-load`: one plan in (JSON), outcomes out (JSON lines).
//!
//! Modules, and which may use which (a repository test reads the `use` lines):
//! `plan outcome random` ← `wire sql arrival record` ← `workload fill lua` ← `serve` ←
//! `reactor cpus` ← `talk` ← `stand load_data` ← `run` ← `cli`.

pub mod arrival;
pub mod cli;
pub mod cpus;
pub mod fill;
pub mod load_data;
pub mod lua;
pub mod outcome;
pub mod plan;
pub mod random;
pub mod reactor;
pub mod record;
pub mod run;
pub mod serve;
pub mod sql;
pub mod stand;
pub mod talk;
pub mod wire;
pub mod workload;
