//! The state of a link that several seats share: each may have one request under way on it, and
//! each answer is for the seat that sent first.

use contend_client::request::Request;
use contend_wire::Prepared;
use std::collections::VecDeque;

/// The additional state of a shared link.
#[derive(Debug, Default)]
pub struct Shared {
    /// Requests that were sent, behind the one whose answer is waited for.
    pub behind: VecDeque<UnderWay>,
    /// An answer is being looked at: the next one must not be read yet.
    pub is_answering: bool,
    /// The seat that opens it and sets it up; none: it is set up, or no seat has found it closed.
    pub opener: Option<usize>,
    /// What the requests were answered with which it was set up.
    pub setup: Vec<Option<Prepared>>,
    pub is_set_up: bool,
}

/// A request that is under way.
#[derive(Clone, Copy, Debug)]
pub struct UnderWay {
    pub seat: usize,
    pub request: Request,
    pub sequence: u8,
    pub asked_ns: u64,
    pub sent_bytes: u64,
}

impl Shared {
    /// The link was closed.
    pub fn close(&mut self) {
        self.behind.clear();
        self.setup.clear();
        (self.is_answering, self.is_set_up) = (false, false);
    }
}
