//! `contend-load`: one plan in (JSON), outcomes out (JSON lines).
//!
//! Rooms, and who may use whom (a house test reads the `use` lines):
//! `plan outcome random` ← `wire arrival record` ← `workload fill lua serve` ← `drive` ← `cli`.

pub mod arrival;
pub mod cli;
pub mod drive;
pub mod fill;
pub mod lua;
pub mod outcome;
pub mod plan;
pub mod random;
pub mod record;
pub mod serve;
pub mod wire;
pub mod workload;
