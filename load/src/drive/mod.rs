//! The only room with sockets, threads and a clock.

pub mod clock;
pub mod counters;
pub mod engine;
pub mod limits;
pub mod socket;
pub mod timers;
