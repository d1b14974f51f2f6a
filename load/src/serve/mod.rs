//! The server's side of the protocol, without a socket: a client's bytes in, answers out.
//!
//! [`Session`] is one client's conversation: greeting, login, commands, prepared statements. What
//! is answered is behind one seam, [`Answer`]: a statement in, the bytes of its answer out. The
//! null server's answers are [`Canned`]; a server that reads tables would be another.

mod canned;
mod pace;
mod reply;
mod session;
mod text;

pub use canned::Canned;
pub use pace::{Pace, ServiceTime, Stalls};
pub use reply::{Cell, Column, Reply};
pub use session::{Heard, Session};

/// What a server has to say to statements. One for each worker, so nothing in it is shared.
pub trait Answer {
    /// What is remembered of a prepared statement.
    type Statement;

    /// Answers a statement that came as text.
    fn query(&mut self, sql: &[u8], reply: &mut Reply<'_>);

    /// Understands a statement once, so that it can be executed often.
    ///
    /// # Errors
    /// Why it cannot be.
    fn prepare(&mut self, sql: &[u8]) -> Result<Self::Statement, Refusal>;

    /// How many values an execution brings, and which columns answer it.
    fn shape(&self, statement: &Self::Statement) -> (u16, &[Column]);

    /// Answers an execution; `values` are its parameters as they came.
    fn execute(&mut self, statement: &Self::Statement, values: &[u8], reply: &mut Reply<'_>);
}

/// An error for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: u16,
    pub sqlstate: [u8; 5],
    pub message: String,
}
