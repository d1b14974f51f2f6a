//! The session of every native workload: prepare, ask step by step, begin again where it must.

use super::replay::{Meaning, Question, Replay, questions_of};
use super::statement::{Parameters, Statement};
use super::tables::Tables;
use super::{Answer, Call, Class, Link, Reply, Request, Seat, Session, Step, Verdict, Workload};
use crate::outcome::Failure;
use crate::plan::Protocol;
use crate::random::Stream;
use crate::wire::{Agreed, Capabilities, command};
use std::sync::Arc;

/// One kind of native workload: its queries, and what it asks at each step of an event.
///
/// Every draw comes from the event's own stream, so cycle n of a seed asks the same question
/// on any connection of any thread.
pub trait Kind: Send + Sync + 'static {
    /// Names of the statement classes.
    fn classes(&self) -> Vec<String>;

    /// The queries that [`Self::ask`] chooses from.
    fn queries(&self) -> Vec<Query>;

    /// True where every event is one query of the only class.
    fn is_single_query(&self) -> bool {
        true
    }

    /// An event that must begin again may leave a transaction behind, which is taken back first.
    fn leaves_transaction(&self, _event: &Event) -> bool {
        false
    }

    /// The tables that its queries touch; none where only the server knows.
    fn tables(&self) -> &[String] {
        &[]
    }

    /// Which of the tables the query at this place asks, and what.
    fn meaning(&self, _query: usize) -> (usize, Meaning) {
        (0, Meaning::Unknown)
    }

    /// Puts the values of a step and says which query it is.
    fn ask(&self, step: u32, event: &mut Event, parameters: &mut Parameters) -> Ask;
}

/// What a step asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The place in [`Kind::queries`].
    pub query: usize,
    /// The event is over with its answer.
    pub is_last: bool,
}

impl Ask {
    /// The only question of an event.
    #[inline]
    pub fn only(query: usize) -> Self {
        Self {
            query,
            is_last: true,
        }
    }
}

/// What the steps of one event share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub seed: u64,
    pub cycle: u64,
    /// Every draw of the event comes from here.
    pub stream: Stream,
    /// What an earlier step has drawn for a later one: the place of a table or of a kind of
    /// event, and a key.
    pub place: usize,
    pub key: u64,
}

impl Event {
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
            place: 0,
            key: 0,
        }
    }
}

/// One query of a kind, or one statement of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub class: u8,
    /// Its text between the values: one piece more than there are values.
    pub pieces: Vec<String>,
    /// It is always sent as text, for not every server can prepare it.
    pub is_text: bool,
    /// One execution carries several sets of values, as only MariaDB knows it.
    pub in_bulk: bool,
}

impl Query {
    /// A query with a `?` for each value, and no other.
    pub fn new(class: u8, sql: &str) -> Self {
        Self {
            class,
            pieces: sql.split('?').map(str::to_owned).collect(),
            is_text: false,
            in_bulk: false,
        }
    }

    /// The same query of the only class, for each table.
    pub fn of_each(tables: &Tables, sql: impl Fn(&str) -> String) -> Vec<Self> {
        let names = tables.names().iter();
        names.map(|table| Self::new(0, &sql(table))).collect()
    }
}

/// A kind as a workload.
pub struct Native<K> {
    kind: Arc<K>,
    way: Way,
    classes: Vec<String>,
}

/// How a native session asks, whatever it asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    pub protocol: Protocol,
    /// Statements that each new connection begins with.
    pub init: Arc<[String]>,
}

impl<K: Kind> Native<K> {
    pub fn new(kind: K, way: Way) -> Self {
        Self {
            classes: kind.classes(),
            kind: Arc::new(kind),
            way,
        }
    }
}

impl<K: Kind> Workload for Native<K> {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn is_single_query(&self) -> bool {
        self.kind.is_single_query()
    }

    fn prepared_statements(&self) -> usize {
        match self.way.protocol {
            Protocol::Prepared => self.kind.queries().iter().filter(|q| !q.is_text).count(),
            Protocol::Text => 0,
        }
    }

    fn replay(&self) -> Option<&dyn Replay> {
        Some(self)
    }

    fn session(&self, seat: Seat) -> Result<Box<dyn Session>, Failure> {
        let kind = Arc::clone(&self.kind);
        Ok(Box::new(NativeSession::new(
            kind,
            self.way.clone(),
            seat.seed,
        )))
    }
}

impl<K: Kind> Replay for Native<K> {
    fn tables(&self) -> &[String] {
        self.kind.tables()
    }

    fn questions(&self, seed: u64, cycle: u64) -> Vec<Question> {
        questions_of(&*self.kind, seed, cycle)
    }
}

/// The only link of a native session, and the server it goes to.
const LINK: Link = 0;
const SERVER: u16 = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Sending the statement at this place of those that a connection begins with.
    Beginning(usize),
    /// Preparing the query at this place.
    Preparing(usize),
    Ready,
    /// Waiting for the answer to this step, which may be the last.
    Asking(u32, bool),
    /// Taking back a transaction that failed, before the event begins again.
    RollingBack,
}

/// A query as this session asks it.
struct Asked {
    class: Class,
    is_text: bool,
    in_bulk: bool,
    statement: Statement,
}

struct NativeSession<K> {
    kind: Arc<K>,
    way: Way,
    queries: Vec<Asked>,
    seed: u64,
    event: Event,
    parameters: Parameters,
    /// The place of the query asked last.
    last: usize,
    state: State,
}

impl<K: Kind> NativeSession<K> {
    fn new(kind: Arc<K>, way: Way, seed: u64) -> Self {
        let queries = kind.queries().into_iter().map(|query| Asked {
            class: Class::Of(query.class),
            is_text: query.is_text,
            in_bulk: query.in_bulk,
            statement: Statement::new(query.pieces),
        });
        Self {
            queries: queries.collect(),
            kind,
            way,
            seed,
            event: Event::new(seed, 0),
            parameters: Parameters::default(),
            last: 0,
            state: State::Ready,
        }
    }

    /// Sends the statement at `place` of those that a connection begins with, then prepares.
    fn set_up(&mut self, place: usize, out: &mut Vec<u8>) -> Step {
        let Some(sql) = self.way.init.get(place) else {
            return self.prepare(0, out);
        };
        command::query(out, sql.as_bytes());
        self.state = State::Beginning(place);
        uncounted(Reply::Counts)
    }

    /// Prepares the next query from `place` on, or is ready where there is none left.
    fn prepare(&mut self, place: usize, out: &mut Vec<u8>) -> Step {
        let place = match self.way.protocol {
            Protocol::Text => None,
            Protocol::Prepared => (place..self.queries.len())
                .find(|place| self.queries.get(*place).is_some_and(|query| !query.is_text)),
        };
        let Some((place, query)) = place.and_then(|p| Some((p, self.queries.get(p)?))) else {
            self.state = State::Ready;
            return Step::Ready;
        };
        query.statement.put_prepare(out);
        self.last = place;
        self.state = State::Preparing(place);
        uncounted(Reply::Prepared)
    }

    #[inline]
    fn begin(&mut self, cycle: u64, out: &mut Vec<u8>) -> Step {
        self.event = Event::new(self.seed, cycle);
        self.ask(0, out)
    }

    #[inline]
    fn ask(&mut self, step: u32, out: &mut Vec<u8>) -> Step {
        self.parameters.clear();
        let ask = self.kind.ask(step, &mut self.event, &mut self.parameters);
        self.last = ask.query;
        self.state = State::Asking(step, ask.is_last);
        let Some(query) = self.queries.get_mut(ask.query) else {
            return Step::Stop;
        };
        let put = match query.in_bulk {
            false => query.statement.put(out, &self.parameters),
            true => query.statement.put_in_bulk(out, &self.parameters),
        };
        if let Err(error) = put {
            return self.failed(error.to_string(), None);
        }
        Step::Send(Request {
            link: LINK,
            class: query.class,
            reply: Reply::Counts,
            ends: ask.is_last,
        })
    }

    /// Not every server has a bulk execute; that one has it is seen before anything is prepared.
    fn connected(&mut self, agreed: &Agreed, out: &mut Vec<u8>) -> Step {
        let has_bulk = agreed.capabilities.has(Capabilities::MARIADB_STMT_BULK);
        if !has_bulk && self.queries.iter().any(|query| query.in_bulk) {
            return self.failed(
                "the server has no bulk execute (COM_STMT_BULK_EXECUTE)".to_owned(),
                Some("MariaDB has it; for other servers leave workload.bulk_execute out."),
            );
        }
        self.set_up(0, out)
    }

    fn failed(&self, message: String, hint: Option<&str>) -> Step {
        Step::Fail(Box::new(Failure {
            message,
            hint: hint.map(str::to_owned),
            code: None,
            sqlstate: None,
            statement: Some(self.statement()),
        }))
    }

    fn answered(&mut self, answer: &Answer<'_>, out: &mut Vec<u8>) -> Step {
        match self.state {
            State::Beginning(place) => self.set_up(place + 1, out),
            State::Preparing(place) => {
                if let (Some(prepared), Some(query)) =
                    (answer.prepared, self.queries.get_mut(place))
                {
                    query.statement.set_prepared(prepared);
                }
                // An ignored error leaves the statement as text, which asks the same.
                self.prepare(place + 1, out)
            }
            State::Asking(step, is_last) => match (answer.error, answer.verdict) {
                (Some(_), Verdict::Retry) if self.kind.leaves_transaction(&self.event) => {
                    self.roll_back(out)
                }
                (Some(_), Verdict::Retry) => self.begin(self.event.cycle, out),
                _ if is_last => Step::EventEnd,
                _ => self.ask(step + 1, out),
            },
            State::RollingBack => self.begin(self.event.cycle, out),
            State::Ready => Step::Ready,
        }
    }

    /// After an error inside a transaction the server may have kept it open.
    fn roll_back(&mut self, out: &mut Vec<u8>) -> Step {
        command::query(out, ROLLBACK.as_bytes());
        self.state = State::RollingBack;
        uncounted(Reply::Counts)
    }
}

const ROLLBACK: &str = "ROLLBACK";

/// A request that is no part of the load.
fn uncounted(reply: Reply) -> Step {
    Step::Send(Request {
        link: LINK,
        class: Class::Uncounted,
        reply,
        ends: false,
    })
}

impl<K: Kind> Session for NativeSession<K> {
    fn next(&mut self, call: Call<'_>, out: &mut Vec<u8>) -> Step {
        match call {
            Call::Event { cycle, .. } => self.begin(cycle, out),
            Call::Answer(answer) => self.answered(answer, out),
            Call::Start => Step::Connect(SERVER),
            Call::Connected { agreed, .. } => self.connected(agreed, out),
            // A native session judges no errors, so nothing breaks but by loss.
            Call::Lost(_) | Call::Broken(_) => {
                self.queries
                    .iter_mut()
                    .for_each(|query| query.statement.forget());
                Step::Connect(SERVER)
            }
            Call::Woken => Step::Ready,
            Call::Finish => Step::Stop,
        }
    }

    fn statement(&self) -> String {
        match (self.state, self.queries.get(self.last)) {
            (State::Beginning(place), _) => self.way.init.get(place).cloned().unwrap_or_default(),
            (State::RollingBack, _) => ROLLBACK.to_owned(),
            (State::Preparing(_), Some(query)) => format!("PREPARE {}", query.statement.sql()),
            (_, Some(query)) => query.statement.text(&self.parameters),
            (_, None) => String::new(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
