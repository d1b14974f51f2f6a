//! The model server in virtual time: the same cache, index and queries as the real one executes,
//! under a scheduler of events with any number of CPUs. A run is a function of what it is told and
//! of its seed: nothing here reads a clock or has a thread.
//!
//! [`machine`] has CPUs, threads and a fair scheduler, [`line`] the lines of cache that go from CPU
//! to CPU, [`lock`] locks that barge or are handed over, [`client`] and [`server`] the threads, which
//! meet at [`sockets`] and the [`key_cache`]. Their costs are [`costs`] and [`demands`].

pub mod costs;
pub mod demands;
pub mod figures;
pub mod lock;
pub mod simulate;

mod agenda;
mod client;
mod key_cache;
mod line;
mod machine;
mod server;
mod sockets;

#[cfg(test)]
mod tests;

pub use simulate::VirtualRun;
