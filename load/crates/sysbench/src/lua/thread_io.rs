//! How a thread of the script host waits: the seam between scripts and sockets.
//!
//! Scripts are written as if every call blocked. A thread that has events runs on a native stack of
//! its own, which is left while it waits ([`super::fiber`]). Elsewhere (`prepare`, report hooks)
//! the call really blocks.

use super::figures::ThreadFigures;
use contend_client::request::{LinkNumber, Reply};
use contend_engine::workload::EventTimes;
use contend_random::Shape;
pub use contend_wire::client_error;
use contend_wire::{Capabilities, Prepared, ServerError, Summary};
use std::time::{Duration, Instant};

/// Services that a thread uses: connections, queries, waiting.
pub trait ThreadIo {
    /// Opens a connection to the server at `endpoint` of the run's list.
    ///
    /// # Errors
    /// The error of the server, or our own with a client's error number.
    fn connect(&mut self, endpoint: usize) -> Result<Connected, ServerError>;

    /// Closes a connection, after a goodbye to the server.
    fn disconnect(&mut self, link: LinkNumber);

    /// Sends what `write` appends and waits for the answer. `about` is the statement as text. With
    /// [`Reply::Whole`] its bytes are put in `bytes`, which is empty.
    ///
    /// # Errors
    /// The connection was lost; the error has the details. An error that the server answers is not
    /// an error here: see [`Answered::error`].
    fn exchange(
        &mut self,
        link: LinkNumber,
        reply: Reply,
        about: &[u8],
        write: &mut dyn FnMut(&mut Vec<u8>),
        bytes: &mut Vec<u8>,
    ) -> Result<Answered, ServerError>;

    /// Waits.
    fn sleep(&mut self, span: Duration);

    /// An event has ended that was due at this time: counts it in `figures`, and records it, if it
    /// was to begin inside the window.
    fn event_ended(&mut self, due: Instant, times: EventTimes, figures: &ThreadFigures);

    /// Waits for the next event.
    fn next_event(&mut self) -> Turn;

    /// True once the run's time is over: nothing should be begun any more.
    fn is_over(&self) -> bool;

    /// The thread's setup is done: it waits here until all are.
    fn ready(&mut self);

    /// The end of the native stack that the thread runs on; none if it is an operating-system
    /// thread's.
    fn lowest_of_stack(&self) -> Option<usize> {
        None
    }

    /// Fills a table that was just made with rows of the OLTP scripts, over separate connections.
    /// None if there is no way to do so from here.
    ///
    /// # Errors
    /// Words for why the rows did not get there.
    fn fill(&mut self, _endpoint: usize, _order: &TableRows) -> Option<Result<(), String>> {
        None
    }
}

/// Rows for a table of the OLTP scripts that is empty.
#[derive(Clone, Debug)]
pub struct TableRows {
    pub table: String,
    /// Number of the table among those of one seed: they differ.
    pub number: u32,
    pub engine: String,
    /// Text after the engine in the statement that made the table.
    pub options: String,
    pub rows: u64,
    pub seed: u64,
    /// Distribution of `k`.
    pub shape: Shape,
    /// Sessions that may fill it at the same time.
    pub sessions: usize,
}

/// An open connection.
#[derive(Clone, Copy, Debug)]
pub struct Connected {
    pub link: LinkNumber,
    /// Agreed by the two sides: reading the answers of [`Reply::Whole`] needs it.
    pub capabilities: Capabilities,
}

/// An answer of the server.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    pub error: Option<Box<ServerError>>,
    pub summary: Summary,
    pub prepared: Option<Prepared>,
}

/// The next step of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// An event, which was due at this time; absent under a closed loop.
    Event(Option<Instant>),
    /// All events of the run have begun.
    Done,
    /// The time is over.
    Over,
}
