//! A conversation with a server, and its failures in words.
//!
//! A [`link`] is the protocol side of one connection: bytes in, bytes out. A
//! [`blocking`](blocking::BlockingLink) one has its socket with it, on which every call waits.

pub mod blocking;
pub mod failure;
pub mod link;
