//! Waiting for many sockets, timers and other threads at once: the base of all our programs that
//! have connections.
//!
//! A [`Reactor`] is the object one thread waits with; a [`Handler`] is the work it then does. An
//! [`engine`] moves bytes, a [`bell`](bell::Bell) wakes the thread that waits in it, and an
//! [`inbox`](inbox::Inbox) hands it clients that the [`doors`] let in. All time is read from one
//! [`clock`]. The other modules use the system: threads, limits, signals.
//!
//! ```
//! use contend_reactor::{bell::Bell, engine::{Engine as _, Epoll}};
//! # fn main() -> std::io::Result<()> {
//! let bell = Bell::new()?;
//! let mut engine = Epoll::new(1, bell.heard()?)?;
//! bell.ring();
//! assert_eq!(engine.wait(None)?, 1);
//! # Ok(()) }
//! ```

mod rounds;

pub mod bell;
pub mod clock;
pub mod doors;
pub mod engine;
pub mod inbox;
pub mod limits;
pub mod parent;
pub mod signals;
pub mod socket;
pub mod threads;
pub mod timers;
pub mod wait;

pub use rounds::{Handler, Reactor, run};
