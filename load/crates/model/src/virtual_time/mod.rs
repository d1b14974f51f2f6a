//! The model server in virtual time: the same cache, index and queries as the real one executes,
//! under a scheduler of events with any number of CPUs. A run is a function of its input and of its
//! seed: nothing here reads a clock or has a thread.
//!
//! [`machine`] has CPUs, threads and a fair scheduler, [`line`] the cache lines that go from CPU to
//! CPU, [`lock`] locks that barge or are handed over. [`client`] and [`server`] are the threads,
//! which meet at [`sockets`] and the [`key_cache`]. Their costs are [`costs`] and [`demands`].

pub mod costs;
pub mod demands;
pub mod figures;
pub mod lock;
pub mod simulate;

mod agenda;
mod client;
mod cpu_set;
mod key_cache;
mod line;
mod machine;
mod server;
mod sockets;

#[cfg(test)]
mod tests;

pub use simulate::VirtualRun;
