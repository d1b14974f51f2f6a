//! The only room with sockets, threads and a clock.

mod answers;
pub mod blocking;
pub mod clock;
mod connect;
mod control;
pub mod counters;
pub mod engine;
pub mod failure;
pub mod fill;
mod idle;
pub mod limits;
pub mod link;
pub mod null_server;
pub mod pace;
pub mod parent;
mod preflight;
pub mod run;
pub mod script;
pub mod seat;
pub mod setup;
pub mod signals;
pub mod socket;
mod steps;
pub mod threads;
pub mod timers;
pub mod wait;
pub mod worker;
