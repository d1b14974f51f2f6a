//! A link of a worker: whose it is, where it leads, and how often it was lost.

use super::job::At;
use crate::talk::dialect::Dialect;
use crate::workload;

/// A link, and whose it is.
pub struct SeatLink<D> {
    pub link: D,
    pub seat: usize,
    pub number: workload::LinkNumber,
    /// Where it leads.
    pub at: At,
    /// When its session asked, the bytes of its request, and those of its answer so far. The
    /// engine knows when the request was sent.
    pub asked_ns: u64,
    pub sent_bytes: u64,
    pub received_bytes: u64,
    /// Requests without an answer, which go with the next one.
    pub held_back: Vec<u8>,
    /// Pause before the next attempt to connect.
    pub backoff_ns: u64,
    /// Since when it has been gone.
    pub lost_ns: Option<u64>,
    /// When the present attempt to connect began.
    pub attempt_ns: u64,
}

/// Pauses between attempts to connect grow from the first to the last of these.
const BACKOFF_NS_MIN: u64 = 10_000_000;
const BACKOFF_NS_MAX: u64 = 1_000_000_000;

impl<D: Dialect> SeatLink<D> {
    /// A connection that is to be opened.
    pub fn new(seat: usize, number: workload::LinkNumber, at: At) -> Self {
        Self {
            link: D::default(),
            seat,
            number,
            at,
            asked_ns: 0,
            sent_bytes: 0,
            received_bytes: 0,
            held_back: Vec::new(),
            backoff_ns: BACKOFF_NS_MIN,
            lost_ns: None,
            attempt_ns: 0,
        }
    }

    /// The pause before the next attempt; the one after will be twice as long.
    pub fn back_off_ns(&mut self) -> u64 {
        let pause = self.backoff_ns;
        self.backoff_ns = (pause * 2).min(BACKOFF_NS_MAX);
        pause
    }

    /// An attempt succeeded: the next pause is a short one again.
    pub fn forget_back_off(&mut self) {
        self.backoff_ns = BACKOFF_NS_MIN;
    }
}
