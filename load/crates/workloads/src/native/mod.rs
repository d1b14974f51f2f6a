//! The interface of native workloads. Each [`Kind`] is one file that chooses the queries of its
//! events.

mod asker;
mod by_key;
mod requests;
mod route;
mod session;

use super::async_session::AsyncSession;
use super::tables::Tables;
pub use asker::{Asked, Asker, EventEnd, EventResult, Interrupted, LastQuestion, Said};
pub use by_key::KeyAccess;
use by_key::KeyQuery;
use contend_client::request::RequestProtocol;
use contend_engine::workload::{EventKind, LookedAtServer, SeatPlace, Session, Step, Workload};
use contend_figures::outcome::{Failure, Scanned};
use contend_plan::Protocol;
use contend_random::Stream;
use requests::{AskedRequest, Requests};
pub use route::{ByKey, NodeRoute};
use session::NativeState;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// One kind of native workload: its queries, and which of them its events send.
///
/// All random values come from the event's own stream. So cycle n of a seed sends the same queries
/// on any connection of any thread, unless they depend on answers or on the session.
pub trait Kind: Send + Sync + Sized + 'static {
    /// State that a session keeps from event to event.
    type Own: Own;

    /// The kinds of event, with their statement classes; [`OpenEvent::kind`] is a place in it.
    fn events(&self) -> Vec<EventKind>;

    /// The queries that [`Self::event`] chooses from. A query's class is an index into the classes
    /// of all kinds of event, put one after the other.
    fn queries(&self) -> Vec<QueryText>;

    /// True if every event is one query of the only class.
    fn is_single_query(&self) -> bool {
        true
    }

    /// True if every event is one query, of whichever class.
    fn asks_once(&self) -> bool {
        self.is_single_query()
    }

    /// True if a failed event may leave a transaction open. It is then rolled back before the event
    /// begins again.
    fn leaves_transaction(&self, _event: &OpenEvent) -> bool {
        false
    }

    /// How HandlerSocket asks the query at this place, and the name of its table; none if it cannot.
    fn by_key(&self, _query: usize) -> Option<(&str, KeyAccess)> {
        None
    }

    /// Progress, if its events are the ranges of closed work.
    fn scanned(&self) -> Option<Scanned> {
        None
    }

    /// See [`Workload::look`].
    ///
    /// # Errors
    /// The server lacks something that the events need.
    fn look(&self, _server: &mut dyn LookedAtServer) -> Result<(), Failure> {
        Ok(())
    }

    /// True if [`Self::due_ns`] may return a later time.
    fn thinks(&self) -> bool {
        false
    }

    /// See [`Session::due_ns`].
    fn due_ns(&self, _event: &mut OpenEvent, _own: &mut Self::Own, ended_ns: u64) -> u64 {
        ended_ns
    }

    /// One event, from its first question to its last, which it returns with.
    fn event(&self, ask: &mut Asker<Self>) -> impl Future<Output = EventResult>;
}

/// State that a session of a kind keeps from event to event.
pub trait Own: 'static {
    fn of(seat: SeatPlace) -> Self;
}

/// Some kinds only need the number of sessions.
impl Own for SeatPlace {
    fn of(seat: SeatPlace) -> Self {
        seat
    }
}

/// Most kinds keep nothing.
impl Own for () {
    fn of(_seat: SeatPlace) -> Self {}
}

/// An event: its draws, and who answers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenEvent {
    pub seed: u64,
    pub cycle: u64,
    /// Every draw of the event comes from here.
    pub stream: Stream,
    /// Its kind: a place in [`Kind::events`].
    pub kind: u8,
    /// The node to ask; [`Self::ANY_NODE`] leaves that to the plan's route.
    pub node: u16,
    /// If each event has one key, a route by key chooses the node by it.
    pub key: u64,
}

impl OpenEvent {
    /// See [`Self::node`].
    pub const ANY_NODE: u16 = u16::MAX;

    /// The stream of one named part of the event, which gives the same at every step.
    pub fn stream_of(&self, part: u64) -> Stream {
        Stream::for_cycle(self.seed, self.cycle).part(part)
    }

    #[inline]
    pub fn new(seed: u64, cycle: u64) -> Self {
        Self {
            seed,
            cycle,
            stream: Stream::for_cycle(seed, cycle),
            kind: 0,
            node: Self::ANY_NODE,
            key: 0,
        }
    }
}

/// One query of a kind, or one statement of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryText {
    pub class: u8,
    /// Its text between the values: one piece more than there are values.
    pub pieces: Vec<String>,
    /// It is always sent as text, for not every server can prepare it.
    pub is_text: bool,
    pub carries: Carries,
}

/// The way in which a request carries the values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carries {
    /// One set of values: one for each mark of the statement.
    #[default]
    One,
    /// Several such sets in one bulk execution, which only MariaDB has.
    Bulk,
    /// Several such sets, each in a separate request; all requests are sent before the first answer
    /// is waited for.
    Pipeline,
    /// As the rows of the local file that the statement loads, with this number of columns.
    File { columns: u16 },
}

impl QueryText {
    /// A query with a `?` for each value, and nowhere else.
    pub fn new(class: u8, sql: &str) -> Self {
        Self {
            class,
            pieces: sql.split('?').map(str::to_owned).collect(),
            is_text: false,
            carries: Carries::One,
        }
    }

    /// The same query of the only class, for each table.
    pub fn of_each(tables: &Tables, sql: impl Fn(&str) -> String) -> Vec<Self> {
        let names = tables.names().iter();
        names.map(|table| Self::new(0, &sql(table))).collect()
    }
}

/// The way in which a native session asks; the same for all workloads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Way {
    pub protocol: Protocol,
    /// Statements that each new connection begins with.
    pub init: Arc<[String]>,
    pub retries: Retries,
    pub route: NodeRoute,
    /// The database of the tables. Only HandlerSocket requests have to name it.
    pub database: Arc<str>,
}

/// Number of retries of an event after an error, and the pause before each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retries {
    /// The most retries of an event. If the last one fails too, the event is given up.
    pub limit: u32,
    /// The full pause before the first retry. It doubles with each further retry, up to a limit.
    pub pause: Duration,
}

/// Keeps the pauses before retries apart from the draws of the event.
const RETRY_PART: u64 = 1 << 40;

/// A pause is doubled at most this number of times.
const DOUBLINGS_MAX: u32 = 6;

impl Retries {
    /// Begins an event again that was begun again `tries` times, or gives it up.
    #[cold]
    pub fn again(self, event: &OpenEvent, tries: u32) -> Step {
        if tries >= self.limit {
            return Step::EventDropped;
        }
        // Drawn apart from what the event asks.
        let mut jitter = event.stream_of(RETRY_PART + u64::from(tries + 1));
        Step::Retry(self.pause(tries + 1, &mut jitter))
    }

    /// The pause before retry number `number`, from 1. It is drawn between half of the full pause
    /// and all of it, so that events that collided do not collide again.
    fn pause(self, number: u32, jitter: &mut Stream) -> Duration {
        if self.pause.is_zero() {
            return self.pause;
        }
        let whole = self.pause * (1 << number.saturating_sub(1).min(DOUBLINGS_MAX));
        let half_ns = (whole / 2).as_nanos() as u64;
        Duration::from_nanos(half_ns + jitter.below(half_ns.max(1)))
    }
}

/// A kind as a workload.
pub struct Native<K> {
    kind: Arc<K>,
    queries: Vec<AskedRequest>,
    way: Arc<Way>,
    kinds: Vec<EventKind>,
    classes: Vec<String>,
}

impl<K: Kind> Native<K> {
    pub fn new(kind: K, way: Way) -> Self {
        let kinds = kind.events();
        let classes = kinds.iter().flat_map(|kind| kind.classes.iter().cloned());
        let key = |(place, _): (usize, &QueryText)| {
            let (table, access) = kind.by_key(place)?;
            Some(KeyQuery::new(table, access))
        };
        let texts = kind.queries();
        // If one of them cannot be asked by key, none is.
        let keys: Option<Vec<KeyQuery>> = match way.protocol {
            Protocol::HandlerSocket => texts.iter().enumerate().map(key).collect(),
            _ => None,
        };
        let mut keys = keys.into_iter().flatten();
        let asked = |query| AskedRequest::new(query, keys.next());
        Self {
            queries: texts.into_iter().map(asked).collect(),
            classes: classes.collect(),
            kinds,
            kind: Arc::new(kind),
            way: Arc::new(way),
        }
    }

    fn session_of(
        &self,
        seat: SeatPlace,
    ) -> AsyncSession<NativeState<K>, impl Future<Output = Infallible> + use<K>> {
        let requests = Requests::new(&self.queries, Arc::clone(&self.way));
        let (kind, way) = (Arc::clone(&self.kind), Arc::clone(&self.way));
        session::session(kind, requests, way, seat)
    }
}

impl<K: Kind> Workload for Native<K> {
    fn kinds(&self) -> &[EventKind] {
        &self.kinds
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn is_single_query(&self) -> bool {
        self.kind.is_single_query()
    }

    fn one_at_a_time(&self) -> Option<&'static str> {
        if !self.kind.asks_once() {
            return Some("its events have several statements, and those of two events would mix");
        }
        let is_one = |query: &AskedRequest| query.is_one_request();
        if !self.queries.iter().all(is_one) {
            return Some("an event sends several requests, or a file, for one answer");
        }
        let keeps_state = |query: &AskedRequest| query.only_touches_rows();
        (!self.queries.iter().all(keeps_state)).then_some(
            "a statement that does not begin with SELECT, INSERT, UPDATE, DELETE, REPLACE or WITH \
             may change the state for the next one (BEGIN, SET, CALL and the like)",
        )
    }

    fn look(&self, server: &mut dyn LookedAtServer) -> Result<(), Failure> {
        self.kind.look(server)
    }

    fn thinks(&self) -> bool {
        self.kind.thinks()
    }

    fn prepared_statements(&self) -> usize {
        // On each node.
        match self.way.protocol {
            Protocol::Prepared => self.queries.iter().filter(|q| !q.is_text).count(),
            Protocol::Text | Protocol::HandlerSocket => 0,
        }
    }

    fn offers_files(&self) -> bool {
        self.queries.iter().any(AskedRequest::offers_file)
    }

    fn scanned(&self) -> Option<Scanned> {
        self.kind.scanned()
    }

    fn request_protocol(&self) -> RequestProtocol {
        match self.queries.iter().any(AskedRequest::is_by_key) {
            true => RequestProtocol::HANDLER_SOCKET,
            false => RequestProtocol::SQL,
        }
    }

    fn session(&self, seat: SeatPlace) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(self.session_of(seat)))
    }
}

#[cfg(test)]
pub(super) mod tests;
