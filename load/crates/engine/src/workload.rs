//! The requests that a run sends to the server. A workload opens no socket and reads no clock: it
//! returns steps, and the module `run` carries them out.
//!
//! A [`Workload`] is the description that all workers share. It makes one [`Session`] for each
//! seat, which is one simulated user. A session is called whenever it can go on, and returns one
//! [`Step`]. The life of a session:
//!
//! ```text
//! Start ──> Connect ──> Connected ──> Send (prepare, SET, …) ──> Answer ──> … ──> Ready
//!                          ^                                                       │
//!                          │ Connect                                               v
//!                        Lost <── (the link broke) ── Send <── Answer … <── Event(cycle)
//!                                                      │ `ends`, or the step EventEnd
//!                                                      └──> recorded; the next Event(cycle)
//! Finish ──> Send … ──> Stop
//! ```
//!
//! An event may be retried ([`Step::Retry`]): the session is then called with the same cycle again.
//!
//! The driver decides when an event begins (at once, after a think time, at its intended time)
//! and measures it; the session decides what an event is. Native sessions are `async` functions,
//! which write a request straight into the output buffer and allocate nothing. A session can also
//! be a coroutine of a script. Either way [`Session::next`] resumes it, and it yields at each step.

pub use contend_client::request::{
    Class, Ending, LINKS_MAX, LinkNumber, Reply, Request, RequestProtocol,
};

use contend_figures::Reading;
use contend_figures::outcome::{Failure, Scanned};
use contend_wire::{Capabilities, Flavour, Prepared, ServerError, Summary};
use std::time::Duration;

/// The most statement classes. A class number is one byte; some of its values stay unused.
pub const CLASSES_MAX: usize = 250;

/// The part that all sessions of a run have in common. Shared by the workers, hence never changed.
pub trait Workload: Send + Sync {
    /// The kinds of event, each recorded apart; an [`Ending`] names its kind by its place here.
    fn kinds(&self) -> &[EventKind];

    /// Names of the statement classes of all kinds, in order; a request names its class by its
    /// place here.
    fn classes(&self) -> &[String];

    /// True if every event is exactly one query of the only class: the driver then measures each
    /// query once.
    fn is_single_query(&self) -> bool {
        false
    }

    /// Why not several of its events may be under way on one connection at the same time; none if
    /// they may. Then each event is one request that `ends` it. A session is called with the next
    /// event while others are under way; after an error it is called with the event of that answer
    /// again, and then with the answer.
    fn one_at_a_time(&self) -> Option<&'static str> {
        Some("its next statement depends on the answer")
    }

    /// Statements that each session keeps prepared on the server.
    fn prepared_statements(&self) -> usize {
        0
    }

    /// The protocol of its sessions.
    fn request_protocol(&self) -> RequestProtocol {
        RequestProtocol::SQL
    }

    /// True if sessions judge errors themselves. The driver then counts an error of the server and
    /// passes it to the session, regardless of the plan's rule for its code. Connections that fail
    /// or are lost are passed on too: [`Call::Broken`]. When the load ends, a session that sleeps
    /// is called with [`Call::Finish`], and it goes on until it returns [`Step::Stop`].
    fn judges_errors(&self) -> bool {
        false
    }

    /// Checks before the load begins whether one of the run's servers has what the events need, and
    /// reads what they must know about it. It may create the procedures that they call.
    ///
    /// # Errors
    /// The run is not possible with this server.
    fn look(&self, _server: &mut dyn LookedAtServer) -> Result<(), Failure> {
        Ok(())
    }

    /// True if sessions think before their events, see [`Session::due_ns`].
    fn thinks(&self) -> bool {
        false
    }

    /// The counters that the sessions of these seats keep themselves, if they keep any. Called on
    /// their own worker at the edges of intervals. Each call resets the longest and shortest time.
    fn read_counts(&self, _seats: &mut dyn Iterator<Item = u32>) -> Vec<(u32, Reading)> {
        Vec::new()
    }

    /// True if some statement loads a local file, whose content the session supplies: see
    /// [`Session::put_local_file`].
    fn offers_files(&self) -> bool {
        false
    }

    /// Stops sessions that compute without end, which keep their worker from all else; false if
    /// there can be none. Called from a different thread, and again until the worker is back.
    fn stop(&self) -> bool {
        false
    }

    /// The progress of a scan that is cut into ranges; none for other workloads.
    fn scanned(&self) -> Option<Scanned> {
        None
    }

    /// Makes the session of one seat. Called on the worker that will run it; a session never moves
    /// to a different worker.
    ///
    /// # Errors
    /// If the session cannot be made, the run ends before any load.
    fn session(&self, seat: SeatPlace) -> Result<Box<dyn Session>, Failure>;
}

/// A server that is checked before the load.
pub trait LookedAtServer {
    fn flavour(&self) -> Flavour;

    /// The rows of a statement as text; NULL is none.
    ///
    /// # Errors
    /// The server refuses it, or is gone.
    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Failure>;
}

/// A kind of event, and the names of the statement classes that only its events have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventKind {
    pub name: String,
    pub classes: Vec<String>,
}

impl EventKind {
    /// The only kind of a workload, with these classes.
    pub fn only(name: &str, classes: &[&str]) -> Vec<Self> {
        vec![Self {
            name: name.to_owned(),
            classes: classes.iter().map(|&class| class.to_owned()).collect(),
        }]
    }
}

/// Which session of the run. Each connection has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatPlace {
    pub index: u32,
    /// Connections of the run.
    pub count: u32,
    /// The worker thread it runs on, from 0.
    pub worker: u32,
    pub seed: u64,
}

impl SeatPlace {
    /// The place, in a list of `length` statements, of the one for an event. Each session runs the
    /// whole list in order, or all of them share it. Events go round the sessions in turn.
    #[inline]
    pub fn in_list(&self, cycle: u64, length: usize, is_shared: bool) -> usize {
        let turn = match is_shared {
            true => cycle,
            false => cycle / u64::from(self.count).max(1),
        };
        (turn % (length as u64).max(1)) as usize
    }
}

/// One simulated user with its connections. See the module for the order of calls.
pub trait Session {
    /// Goes on until the next step. `out` is empty; only [`Step::Send`] reads it.
    fn next(&mut self, call: Call<'_>, out: &mut Vec<u8>) -> Step;

    /// The last request as text, as an example for its error. May allocate.
    fn statement(&self) -> String;

    /// The kind of the event in progress.
    fn kind(&self) -> u8 {
        0
    }

    /// Appends the content of the local file that the last request loads. The name that the server
    /// asks for does not matter: no file of this host is read.
    fn put_local_file(&mut self, _out: &mut Vec<u8>) {}

    /// When the next event is due, which is event number `cycle`: after the think time. The event
    /// before it ended at `ended_ns`. If the next one is due in the past, it begins at once and is
    /// late. Only called under a closed loop, and only if [`Workload::thinks`].
    fn due_ns(&mut self, _cycle: u64, ended_ns: u64) -> u64 {
        ended_ns
    }
}

/// Why the driver calls.
#[derive(Debug)]
pub enum Call<'a> {
    /// The first call. The load has not begun.
    Start,
    /// The connection of [`Step::Connect`] is open. The first is link 0, the next link 1, and so
    /// on; a link that was lost comes back under its own number.
    Connected {
        link: LinkNumber,
        capabilities: Capabilities,
    },
    /// The link is gone, with every prepared statement and transaction on it. The event in
    /// progress, if any, is begun again with the same cycle after [`Step::Ready`].
    Lost(LinkNumber),
    /// Begin event number `cycle`, which was due `late_ns` ago. The same cycle and seed always give
    /// the same queries. `counts`: the event was due inside the measured window.
    Event {
        cycle: u64,
        late_ns: u64,
        counts: bool,
    },
    /// For sessions that judge errors: why the last request or [`Step::Connect`] failed. The link
    /// is closed.
    Broken(&'a ServerError),
    /// The answer to the last request, whole.
    Answer(&'a Answer<'a>),
    /// The time of [`Step::Sleep`] is over.
    Woken,
    /// The load is over. The session may send last requests, but must soon return [`Step::Stop`].
    Finish,
}

/// The next step for the driver.
#[derive(Debug)]
pub enum Step {
    /// Send the output buffer and wait for its answer.
    Send(Request),
    /// Open a connection to the server at this place of the run's list, then
    /// [`Call::Connected`]. A refused or failed first connection ends the run; a later one is
    /// tried again with growing pauses.
    Connect(u16),
    /// Close a link, then [`Call::Lost`] for it: a session that reconnects on purpose.
    Disconnect(LinkNumber),
    /// The setup is over, or the session is back from a lost link: wait for an event.
    Ready,
    /// The event is over: record it, and wait for the next. For sessions that do not know when they
    /// send a request whether it is the last one of the event.
    EventEnd(Ending),
    /// The event is over. Record these times, which the session measured itself, and wait for the
    /// next event.
    EventTimed(EventTimes),
    /// One more event has ended inside the one in progress: record it, then [`Call::Woken`].
    EventMore(EventTimes),
    /// The event failed, and its time is not recorded. Wait for the next.
    EventDropped,
    /// Begin the event again after this pause. Its response time includes the pause and all tries.
    Retry(Duration),
    /// Wait, then [`Call::Woken`].
    Sleep(Duration),
    /// This session has ended; the others go on.
    Stop,
    /// The whole run has failed.
    Fail(Box<Failure>),
}

/// Times of an event by its session's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventTimes {
    /// Since it was due.
    pub response_ns: u64,
    /// The part of it before the event began.
    pub lag_ns: u64,
}

/// A whole answer; by default a good one without content.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answer<'a> {
    pub summary: Summary,
    /// The server's error. Then `verdict` is the plan's rule for it.
    pub error: Option<&'a ServerError>,
    pub verdict: Verdict,
    /// How often the event in progress was begun again after an error.
    pub tries: u32,
    /// If [`Reply::Prepared`] was asked.
    pub prepared: Option<Prepared>,
    /// If [`Reply::Whole`] was asked: all frames as they came, readable by
    /// [`contend_wire::mysql`]'s readers.
    pub bytes: Option<&'a [u8]>,
}

impl Answer<'_> {
    /// The event is to begin again.
    #[inline]
    pub fn is_retried(&self) -> bool {
        self.error.is_some() && self.verdict == Verdict::Retry
    }
}

/// The plan's rule for an error of the server. Errors it calls fatal end the run and never reach a
/// session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Go on as if the answer were good.
    #[default]
    Ignore,
    /// Begin the event again, with the same cycle; its clock runs on.
    Retry,
}
