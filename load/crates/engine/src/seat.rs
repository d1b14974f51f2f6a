//! One session and its state.

use crate::workload::Session;
use contend_client::request::LinkNumber;
use std::ops::Range;

/// A session with the times and counts that the driver keeps for it.
pub struct Seat {
    pub session: Box<dyn Session>,
    pub waits_for: WaitsFor,
    /// Tokens of its links, by their number.
    pub tokens: Vec<usize>,
    /// Its index in the run, the same in each arm.
    pub index: u32,
    pub arm: u16,
    /// The places of the seats that share its links, its own among them.
    pub group: Range<usize>,
    /// Links lost, and perhaps opened again, while its session was busy with a different one.
    pub missed: Vec<LinkNumber>,
    /// It holds a connection and asks nothing, throughout.
    pub is_idle: bool,
    /// Its session judges errors itself.
    pub judges: bool,
    /// It sends nothing at present: it is idle, or a different arm is loaded.
    pub rests: bool,
    /// Number of its next event, if it numbers its events itself.
    pub cycle: u64,
    /// The event in progress.
    pub event: Option<u64>,
    /// The event in progress was to begin inside the window: it and its queries count.
    pub counts: bool,
    /// There are no more events for it until its arm is loaded again.
    pub is_done: bool,
    /// It waits among the free seats of a schedule.
    pub is_queued: bool,
    /// The event that it thinks before, if it is of a kind that does.
    pub thinks_of: Option<u64>,
    /// When the event in progress was begun again; 0: it was not.
    pub tried_again_ns: u64,
    /// Events since its links were opened.
    pub events_on_link: u64,
    /// When the event in progress was due to begin, and when it did: with the sending of its first
    /// request, which is known when that is answered.
    pub intended_ns: u64,
    pub begun_ns: u64,
    pub is_begun: bool,
    /// Queries answered inside the window.
    pub queries: u64,
    /// Number of the alarm that counts: an older one in the queue means nothing any more.
    pub alarm: u64,
}

/// What a seat waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// Its turn in the setup.
    Unborn,
    /// The connection of this token.
    Connecting(usize),
    /// The end of the pause before it connects again.
    BackingOff(usize),
    /// A place in the queue of the server's socket, which was full.
    SocketQueueFull(usize),
    /// The link of this token, which a different seat opens.
    SharedLink(usize),
    /// An answer.
    Asking,
    /// The end of a sleep that the session asked for.
    Sleeping,
    /// The end of its think time.
    Thinking,
    /// The end of the pause before it begins its event again.
    Pausing,
    /// Leave to begin an event.
    Parked,
    /// Nothing: the session has ended.
    Stopped,
}

impl Seat {
    pub fn new(session: Box<dyn Session>, index: u32, arm: u16) -> Self {
        Self {
            session,
            waits_for: WaitsFor::Unborn,
            tokens: Vec::new(),
            index,
            arm,
            group: 0..0,
            missed: Vec::new(),
            is_idle: false,
            judges: false,
            rests: true,
            cycle: u64::from(index),
            event: None,
            counts: false,
            is_done: false,
            is_queued: false,
            thinks_of: None,
            tried_again_ns: 0,
            events_on_link: 0,
            intended_ns: 0,
            begun_ns: 0,
            is_begun: false,
            queries: 0,
            alarm: 0,
        }
    }

    /// Other seats ask on its links too.
    #[inline]
    pub fn shares(&self) -> bool {
        self.group.len() > 1
    }
}
