//! The interface of native workloads. Each [`Kind`] is one file that chooses the queries of its
//! events.

mod by_key;
mod route;
mod session;

use super::statement::Parameters;
use super::tables::Tables;
pub use by_key::KeyAccess;
use by_key::{KeyQuery, KeySession};
use contend_client::request::Tongue;
use contend_engine::workload::{
    Answer, EventKind, LookedAtServer, SeatPlace, Session, Step, Workload,
};
use contend_figures::outcome::{Failure, Scanned};
use contend_plan::Protocol;
use contend_random::Stream;
use contend_wire::mysql::ResultRows;
use contend_wire::{Capabilities, Summary, Value};
pub use route::{ByKey, NodeRoute};
use session::{AskedRequest, NativeSession};
use std::sync::Arc;
use std::time::Duration;

/// One kind of native workload: its queries, and which of them its events send.
///
/// All random values come from the event's own stream. So cycle n of a seed sends the same queries
/// on any connection of any thread, unless they depend on answers or on the session.
pub trait Kind: Send + Sync + 'static {
    /// State that a session keeps from event to event.
    type Own: Own;

    /// The kinds of event, with their statement classes; [`OpenEvent::kind`] is a place in it.
    fn events(&self) -> Vec<EventKind>;

    /// The queries that [`Self::next`] chooses from. A query's class is an index into the classes
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

    /// Passes on the keys besides [`OpenEvent::key`], once the event has begun. A route by key
    /// sends an event whose keys have several owners to a node that reaches all of them.
    fn other_keys(&self, _event: &OpenEvent, _own: &Self::Own, _tell: &mut dyn FnMut(u64)) {}

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

    /// The next step of the event.
    fn next(&self, on: GoingOn<'_, Self::Own>) -> NextStep;
}

/// An event that is asked what it does next.
pub struct GoingOn<'a, O> {
    pub heard: WhyAsked<'a>,
    pub event: &'a mut OpenEvent,
    /// The state of its session.
    pub own: &'a mut O,
    /// Empty at first: the values of the next query go there.
    pub values: &'a mut Parameters,
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

/// Why an event is asked what it does next.
#[derive(Clone, Copy, Debug)]
pub enum WhyAsked<'a> {
    /// It begins, for the first time or again.
    Begin,
    /// The answer to its last question.
    Said(Said<'a>),
    /// Its last question is answered, and the answer is not for it.
    Unheard,
}

/// An answer that an event may read. After an error that the plan ignores it has no values.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    answer: &'a Answer<'a>,
    capabilities: Capabilities,
    is_prepared: bool,
}

impl Said<'_> {
    /// Rows, affected rows, the insert id of the OK packet, and the like.
    pub fn summary(&self) -> &Summary {
        &self.answer.summary
    }

    /// The server refused, and the plan ignores that error.
    pub fn is_refused(&self) -> bool {
        self.answer.error.is_some()
    }

    /// Calls `take` with the values of the first row, in order; false if there is no row. The query
    /// must have been sent with [`ToAsk::wants_rows`].
    pub fn first_row(&self, take: impl FnMut(Value<'_>)) -> bool {
        self.rows().next_row(take).unwrap_or(false)
    }

    /// Applies `take` to the value in column `at` of the first row; none if there is no row or no
    /// such column. The query must have been sent with [`ToAsk::wants_rows`].
    pub fn value_at<T>(&self, at: usize, take: impl FnOnce(Value<'_>) -> T) -> Option<T> {
        let (mut place, mut take, mut taken) = (0, Some(take), None);
        self.first_row(|value| {
            if place == at {
                taken = take.take().map(|take| take(value));
            }
            place += 1;
        });
        taken
    }

    /// The rows, if the question asked for them.
    pub fn rows(&self) -> ResultRows {
        let bytes = self.answer.bytes.unwrap_or_default();
        match self.is_prepared {
            true => ResultRows::of_prepared(bytes, self.capabilities),
            false => ResultRows::new(bytes, self.capabilities),
        }
    }
}

/// The next step of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    Ask(ToAsk),
    /// It is over, without a further question.
    End(EventEnd),
    /// This row, which every event relies on, is not in the tables. The run has failed.
    Broken(&'static str),
}

/// A query to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToAsk {
    /// The place in [`Kind::queries`].
    pub query: usize,
    /// The event reads the rows of the answer.
    pub wants_rows: bool,
    /// If set, the event ends with the answer, and in this way.
    pub ends: Option<EventEnd>,
}

/// The end of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventEnd {
    Done,
    /// The event rolled back its transaction on purpose.
    RolledBack,
}

impl NextStep {
    /// The only question of an event.
    #[inline]
    pub fn only(query: usize) -> Self {
        Self::in_turn(query, true)
    }

    /// A question whose rows the event reads.
    #[inline]
    pub fn read(query: usize) -> Self {
        Self::Ask(ToAsk {
            query,
            wants_rows: true,
            ends: None,
        })
    }

    /// The last question of an event.
    #[inline]
    pub fn last(query: usize, end: EventEnd) -> Self {
        Self::Ask(ToAsk {
            query,
            wants_rows: false,
            ends: Some(end),
        })
    }

    /// One of several questions whose answers are not needed.
    #[inline]
    pub fn in_turn(query: usize, is_last: bool) -> Self {
        Self::Ask(ToAsk {
            query,
            wants_rows: false,
            ends: is_last.then_some(EventEnd::Done),
        })
    }
}

/// State of one event that its steps share.
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
    /// For the kind's own use: the progress of the event, the place of a table, a key. If each
    /// event has one key, a route by key chooses the node by `key`.
    pub step: u32,
    pub place: usize,
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
            step: 0,
            place: 0,
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
    fn again(self, event: &OpenEvent, tries: u32) -> Step {
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
    /// The queries as HandlerSocket requests, if that is the protocol and all of them can be such.
    by_key: Option<Arc<[KeyQuery]>>,
    way: Arc<Way>,
    kinds: Vec<EventKind>,
    classes: Vec<String>,
}

impl<K: Kind> Native<K> {
    pub fn new(kind: K, way: Way) -> Self {
        let kinds = kind.events();
        let classes = kinds.iter().flat_map(|kind| kind.classes.iter().cloned());
        let wants_keys = way.protocol == Protocol::HandlerSocket;
        Self {
            by_key: wants_keys.then(|| by_key(&kind)).flatten(),
            classes: classes.collect(),
            kinds,
            queries: kind.queries().into_iter().map(AskedRequest::new).collect(),
            kind: Arc::new(kind),
            way: Arc::new(way),
        }
    }

    fn session_of(&self, seat: SeatPlace) -> NativeSession<K> {
        let (kind, way) = (Arc::clone(&self.kind), Arc::clone(&self.way));
        NativeSession::new(kind, &self.queries, way, seat)
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

    fn tongue(&self) -> Tongue {
        match self.by_key {
            Some(_) => Tongue::HandlerSocket,
            None => Tongue::Sql,
        }
    }

    fn session(&self, seat: SeatPlace) -> Result<Box<dyn Session>, Failure> {
        let Some(queries) = &self.by_key else {
            return Ok(Box::new(self.session_of(seat)));
        };
        let (kind, way) = (Arc::clone(&self.kind), Arc::clone(&self.way));
        let session = KeySession::new(kind, Arc::clone(queries), way, seat);
        Ok(Box::new(session))
    }
}

/// The queries of a kind as requests by key; none if one of them cannot be sent so.
fn by_key(kind: &impl Kind) -> Option<Arc<[KeyQuery]>> {
    let queries = kind.queries().into_iter().enumerate();
    queries
        .map(|(place, query)| {
            let (table, access) = kind.by_key(place)?;
            Some(KeyQuery::new(query.class, table, access))
        })
        .collect()
}

#[cfg(test)]
pub(super) mod tests;
