//! The session of every native workload: prepare, ask step by step, begin again if it must.

use super::{
    Carries, EventEnd, GoingOn, Kind, NextStep, OpenEvent, Own, QueryText, Said, ToAsk, Way,
    WhyAsked,
};
use crate::statement::{Parameters, Statement, only_touches_rows};
use contend_client::request::{Class, Ending, LinkNumber, Reply, Request};
use contend_engine::workload::{Answer, Call, SeatPlace, Session, Step, Verdict};
use contend_figures::outcome::Failure;
use contend_plan::Protocol;
use contend_wire::Capabilities;
use contend_wire::mysql::command;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NativeState {
    /// Sending the statement at this place of those that a connection begins with.
    Beginning(usize),
    /// Preparing the query at this place.
    Preparing(usize),
    Ready,
    /// Waiting for an answer, with which the event may end.
    Asking(Option<EventEnd>),
    /// Taking back a transaction that failed, before the event begins again.
    RollingBack,
}

/// A query as a session asks it.
#[derive(Clone)]
pub(super) struct AskedRequest {
    class: Class,
    pub is_text: bool,
    carries: Carries,
    statement: Statement,
}

impl AskedRequest {
    pub fn new(query: QueryText) -> Self {
        Self {
            class: Class::Of(query.class),
            is_text: query.is_text,
            carries: query.carries,
            statement: Statement::new(query.pieces),
        }
    }

    pub fn is_one_request(&self) -> bool {
        matches!(self.carries, Carries::One | Carries::Bulk)
    }

    /// It leaves no trace in the state of its connection: no open transaction, no variable.
    pub fn only_touches_rows(&self) -> bool {
        only_touches_rows(self.statement.sql())
    }

    pub fn offers_file(&self) -> bool {
        matches!(self.carries, Carries::File { .. })
    }
}

pub struct NativeSession<K: Kind> {
    kind: Arc<K>,
    own: K::Own,
    way: Arc<Way>,
    /// The kind's queries, once for each node.
    queries: Box<[AskedRequest]>,
    queries_of_node: usize,
    /// One link to each node, which has the same place.
    links: Box<[LinkState]>,
    seed: u64,
    event: OpenEvent,
    parameters: Parameters,
    /// The link used last, and the place of the query asked last.
    link: LinkNumber,
    last: usize,
    state: NativeState,
}

#[derive(Clone, Copy)]
struct LinkState {
    is_set_up: bool,
    capabilities: Capabilities,
}

impl<K: Kind> NativeSession<K> {
    /// `queries` are the kind's, none of them prepared.
    pub fn new(kind: Arc<K>, queries: &[AskedRequest], way: Arc<Way>, seat: SeatPlace) -> Self {
        let nodes = usize::from(way.route.nodes());
        let link = LinkState {
            is_set_up: false,
            capabilities: Capabilities::NONE,
        };
        Self {
            queries: vec![queries; nodes].concat().into(),
            queries_of_node: queries.len(),
            links: vec![link; nodes].into(),
            kind,
            own: K::Own::of(seat),
            way,
            seed: seat.seed,
            event: OpenEvent::new(seat.seed, 0),
            parameters: Parameters::default(),
            link: 0,
            last: 0,
            state: NativeState::Ready,
        }
    }

    /// Connects to the first node to which there is no link, or is ready.
    fn connect_or_ready(&mut self) -> Step {
        match self.links.iter().position(|link| !link.is_set_up) {
            Some(node) => Step::Connect(node as u16),
            None => {
                self.state = NativeState::Ready;
                Step::Ready
            }
        }
    }

    /// The places of the queries of the link used last.
    fn own_queries(&self) -> std::ops::Range<usize> {
        let first = usize::from(self.link) * self.queries_of_node;
        first..first + self.queries_of_node
    }

    /// Sends the statement at `place` of those that a connection begins with, then prepares.
    pub(super) fn set_up(&mut self, place: usize, out: &mut Vec<u8>) -> Step {
        let Some(sql) = self.way.init.get(place) else {
            return self.prepare(self.own_queries().start, out);
        };
        command::query(out, sql.as_bytes());
        self.state = NativeState::Beginning(place);
        self.uncounted(Reply::Counts)
    }

    /// Prepares the next query of the link from `place` on. After the last the link is set up.
    fn prepare(&mut self, place: usize, out: &mut Vec<u8>) -> Step {
        let place = match self.way.protocol {
            Protocol::Text | Protocol::HandlerSocket => None,
            Protocol::Prepared => (place..self.own_queries().end)
                .find(|place| self.queries.get(*place).is_some_and(|query| !query.is_text)),
        };
        let Some((place, query)) = place.and_then(|p| Some((p, self.queries.get(p)?))) else {
            if let Some(link) = self.links.get_mut(usize::from(self.link)) {
                link.is_set_up = true;
            }
            return self.connect_or_ready();
        };
        query.statement.put_prepare(out);
        self.last = place;
        self.state = NativeState::Preparing(place);
        self.uncounted(Reply::Prepared)
    }

    #[inline]
    fn begin(&mut self, cycle: u64, out: &mut Vec<u8>) -> Step {
        self.event = OpenEvent::new(self.seed, cycle);
        self.go_on(WhyAsked::Begin, out)
    }

    /// Does what the event does next.
    #[inline(always)]
    fn go_on(&mut self, heard: WhyAsked<'_>, out: &mut Vec<u8>) -> Step {
        self.parameters.clear();
        let on = GoingOn {
            heard,
            event: &mut self.event,
            own: &mut self.own,
            values: &mut self.parameters,
        };
        match self.kind.next(on) {
            NextStep::Ask(ask) => self.ask(ask, out),
            NextStep::End(end) => Step::EventEnd(self.ending(end)),
            NextStep::Broken(missing) => self.row_missing(missing),
        }
    }

    /// Its values are gone by now: the statement is shown as the workload has it.
    #[cold]
    fn row_missing(&self, what: &str) -> Step {
        let query = self.queries.get(self.last);
        Step::Fail(Box::new(Failure {
            message: format!("the tables do not match the workload: there is no {what}"),
            hint: Some("reload the tables".to_owned()),
            code: None,
            sqlstate: None,
            statement: query.map(|query| query.statement.sql().to_owned()),
        }))
    }

    #[inline(always)]
    fn ask(&mut self, ask: ToAsk, out: &mut Vec<u8>) -> Step {
        self.last = ask.query;
        if self.links.len() > 1 {
            self.choose_link();
        }
        self.state = NativeState::Asking(ask.ends);
        let Some(query) = self.queries.get_mut(self.last) else {
            return Step::Stop;
        };
        let mut requests = 1;
        let put = match query.carries {
            Carries::One => query.statement.put(out, &self.parameters),
            Carries::Bulk => query.statement.put_in_bulk(out, &self.parameters),
            Carries::Pipeline => {
                requests = query.statement.sets(&self.parameters);
                query.statement.put_each(out, &self.parameters)
            }
            // Its values follow when the server asks for them.
            Carries::File { .. } => query.statement.put(out, &Parameters::default()),
        };
        if let Err(error) = put {
            return self.failed(error.to_string(), None);
        }
        Step::Send(Request {
            link: self.link,
            class: query.class,
            reply: match ask.wants_rows {
                _ if requests > 1 => Reply::Several(requests),
                true => Reply::Whole,
                false => Reply::Counts,
            },
            ends: ask.ends.map(|end| self.ending(end)),
        })
    }

    /// Chooses, among several nodes, the one for the event.
    #[inline(never)]
    fn choose_link(&mut self) {
        let route = &self.way.route;
        if self.event.node == OpenEvent::ANY_NODE && route.looks_at_all_keys() {
            let (kind, event, own) = (&self.kind, &self.event, &self.own);
            self.event.node = route.node_of_all(event, |tell| kind.other_keys(event, own, tell));
        }
        self.link = route.node_of(&self.event);
        self.last += self.own_queries().start;
    }

    #[inline]
    fn ending(&self, end: EventEnd) -> Ending {
        Ending {
            kind: self.event.kind,
            rolled_back: end == EventEnd::RolledBack,
        }
    }

    /// Checks that this session can carry the requests before anything is prepared: not every
    /// server has a bulk execute.
    fn connected(
        &mut self,
        link: LinkNumber,
        capabilities: Capabilities,
        out: &mut Vec<u8>,
    ) -> Step {
        self.link = link;
        if let Some(state) = self.links.get_mut(usize::from(link)) {
            state.capabilities = capabilities;
        }
        let has_bulk = capabilities.has(Capabilities::MARIADB_STMT_BULK);
        if !has_bulk
            && self
                .queries
                .iter()
                .any(|query| query.carries == Carries::Bulk)
        {
            return self.failed(
                "the server has no bulk execute (COM_STMT_BULK_EXECUTE)".to_owned(),
                Some("MariaDB has it; for other servers change workload.insert_by or workload.bulk_execute"),
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
            NativeState::Beginning(place) => self.set_up(place + 1, out),
            NativeState::Preparing(place) => {
                if let (Some(prepared), Some(query)) =
                    (answer.prepared, self.queries.get_mut(place))
                {
                    query.statement.set_prepared(prepared);
                }
                // An ignored error leaves the statement as text, which asks the same.
                self.prepare(place + 1, out)
            }
            NativeState::Asking(ends) => match (answer.error, answer.verdict, ends) {
                (Some(_), Verdict::Retry, _) if self.kind.leaves_transaction(&self.event) => {
                    self.roll_back(out)
                }
                (Some(_), Verdict::Retry, _) => self.try_again(answer.tries),
                (_, _, Some(end)) => Step::EventEnd(self.ending(end)),
                (_, _, None) => {
                    let query = self.queries.get(self.last);
                    let link = self.links.get(usize::from(self.link));
                    let said = Said {
                        answer,
                        capabilities: link.map_or(Capabilities::NONE, |link| link.capabilities),
                        is_prepared: query.is_some_and(|query| query.statement.is_prepared()),
                    };
                    self.go_on(WhyAsked::Said(said), out)
                }
            },
            NativeState::RollingBack => self.try_again(answer.tries),
            NativeState::Ready => Step::Ready,
        }
    }

    /// After an error inside a transaction the server may have kept it open.
    fn roll_back(&mut self, out: &mut Vec<u8>) -> Step {
        command::query(out, ROLLBACK.as_bytes());
        self.state = NativeState::RollingBack;
        self.uncounted(Reply::Counts)
    }

    /// Begins the event again, or gives it up.
    #[cold]
    fn try_again(&mut self, tries: u32) -> Step {
        self.state = NativeState::Ready;
        self.way.retries.again(&self.event, tries)
    }

    /// The link is gone, and so are its prepared statements.
    fn forget(&mut self, link: LinkNumber) -> Step {
        self.link = link;
        let own = self.own_queries();
        let queries = self.queries.get_mut(own).into_iter().flatten();
        queries.for_each(|query| query.statement.forget());
        if let Some(state) = self.links.get_mut(usize::from(link)) {
            state.is_set_up = false;
        }
        self.connect_or_ready()
    }

    /// A request that is not part of the load.
    fn uncounted(&self, reply: Reply) -> Step {
        Step::Send(Request {
            link: self.link,
            class: Class::Uncounted,
            reply,
            ends: None,
        })
    }
}

const ROLLBACK: &str = "ROLLBACK";

impl<K: Kind> Session for NativeSession<K> {
    fn next(&mut self, call: Call<'_>, out: &mut Vec<u8>) -> Step {
        match call {
            Call::Event { cycle, .. } => self.begin(cycle, out),
            Call::Answer(answer) => self.answered(answer, out),
            Call::Start => self.connect_or_ready(),
            Call::Connected { link, capabilities } => self.connected(link, capabilities, out),
            Call::Lost(link) => self.forget(link),
            // A native session judges no errors, so nothing breaks but by loss.
            Call::Broken(_) => self.forget(self.link),
            Call::Woken => Step::Ready,
            Call::Finish => Step::Stop,
        }
    }

    fn statement(&self) -> String {
        match (self.state, self.queries.get(self.last)) {
            (NativeState::Beginning(place), _) => {
                self.way.init.get(place).cloned().unwrap_or_default()
            }
            (NativeState::RollingBack, _) => ROLLBACK.to_owned(),
            (NativeState::Preparing(_), Some(query)) => {
                format!("PREPARE {}", query.statement.sql())
            }
            (_, Some(query)) => query.statement.text(&self.parameters),
            (_, None) => String::new(),
        }
    }

    fn put_local_file(&mut self, out: &mut Vec<u8>) {
        let query = self.queries.get(self.last);
        if let Some(Carries::File { columns }) = query.map(|query| query.carries) {
            self.parameters.put_lines(usize::from(columns), out);
        }
    }

    fn kind(&self) -> u8 {
        self.event.kind
    }

    fn due_ns(&mut self, cycle: u64, ended_ns: u64) -> u64 {
        self.event = OpenEvent::new(self.seed, cycle);
        let (event, own) = (&mut self.event, &mut self.own);
        self.kind.due_ns(event, own, ended_ns)
    }
}
