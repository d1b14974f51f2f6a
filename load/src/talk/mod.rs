//! A conversation with a server, and its failures in words.
//!
//! A [`Dialect`](dialect::Dialect) is the protocol side of one connection: bytes in, bytes out; a
//! [`Link`](link::Link) is MySQL's. A
//! [`blocking`](blocking::BlockingLink) one has its socket with it, on which every call waits. What
//! a plan says of servers is read by [`target`], the files that TLS needs by [`tls`].

pub mod blocking;
pub mod dialect;
pub mod failure;
pub mod handler_socket;
pub mod link;
pub mod target;
pub mod tls;

pub use target::Target;
