//! The session of a native workload over HandlerSocket: it opens an index for each of its queries,
//! and asks by key what they mean.

use super::{EventEnd, GoingOn, Kind, NextStep, OpenEvent, Own, ToAsk, Way, WhyAsked};
use crate::statement::Parameters;
use contend_client::request::{Class, Ending, LinkNumber, Reply, Request};
use contend_engine::workload::{Answer, Call, SeatPlace, Session, Step, Verdict};
use contend_figures::outcome::Failure;
use contend_wire::Value;
use contend_wire::handler_socket::{IndexName, find, put_any_of, put_limit, put_open, put_update};
use std::sync::Arc;

/// Most rows of one answer.
const ROWS_MAX: u64 = u32::MAX as u64;

/// The places of a run's servers: HandlerSocket has a port for reading and one for writing.
const READS: u16 = 0;
const WRITES: u16 = 1;

/// What a query does, if it can be asked by key. Its values come in the order of its marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAccess {
    /// The `c` of an id.
    PointSelect,
    /// The whole rows whose `k` is one of the values.
    Points,
    /// Sets the `c` of an id, which comes second.
    NonIndexUpdate,
}

/// The index that a query goes by, and the columns that it reads or writes.
#[derive(Clone, Debug)]
pub struct KeyQuery {
    class: u8,
    access: KeyAccess,
    table: String,
    index: String,
    columns: &'static str,
}

impl KeyQuery {
    pub fn new(class: u8, table: &str, access: KeyAccess) -> Self {
        let (index, columns) = match access {
            KeyAccess::Points => (secondary_key(table), "id,k,c,pad"),
            _ => ("PRIMARY".to_owned(), "c"),
        };
        Self {
            class,
            access,
            table: table.to_owned(),
            index,
            columns,
        }
    }

    fn port(&self) -> u16 {
        match self.access {
            KeyAccess::NonIndexUpdate => WRITES,
            _ => READS,
        }
    }

    fn put(&self, out: &mut Vec<u8>, number: u32, values: &Parameters) {
        let mut digits = [(); 2].map(|()| itoa::Buffer::new());
        let [first, other] = &mut digits;
        match self.access {
            KeyAccess::NonIndexUpdate => {
                let mut values = values.values();
                let (text, id) = (values.next(), values.next());
                let found = find(out, number, bytes_of(id, first));
                put_update(put_limit(found, 1), &[bytes_of(text, other)]);
            }
            KeyAccess::Points => {
                let mut keys = values.values().map(|value| value.as_int().unwrap_or(0));
                let key = first.format(keys.clone().next().unwrap_or(0)).as_bytes();
                let found = put_limit(find(out, number, key), ROWS_MAX);
                put_any_of(found, 0, &mut keys).end();
            }
            KeyAccess::PointSelect => {
                let id = bytes_of(values.values().next(), first);
                put_limit(find(out, number, id), 1).end();
            }
        }
    }
}

/// The name that both kinds of tables give their key on k.
fn secondary_key(table: &str) -> String {
    let number = table.trim_start_matches(|c: char| !c.is_ascii_digit());
    match number.is_empty() {
        true => "k".to_owned(),
        false => format!("k_{number}"),
    }
}

fn bytes_of<'v>(value: Option<Value<'v>>, digits: &'v mut itoa::Buffer) -> &'v [u8] {
    match value {
        Some(Value::Int(number)) => digits.format(number).as_bytes(),
        Some(Value::Bytes(bytes)) => bytes,
        _ => b"",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyState {
    Opening,
    Ready,
    Asking(Option<EventEnd>),
}

pub struct KeySession<K: Kind> {
    kind: Arc<K>,
    own: K::Own,
    way: Arc<Way>,
    queries: Arc<[KeyQuery]>,
    /// The ports that the queries need, and whether the link to each is set up.
    ports: Vec<(u16, bool)>,
    seed: u64,
    event: OpenEvent,
    parameters: Parameters,
    link: LinkNumber,
    last: usize,
    state: KeyState,
}

impl<K: Kind> KeySession<K> {
    pub fn new(kind: Arc<K>, queries: Arc<[KeyQuery]>, way: Arc<Way>, seat: SeatPlace) -> Self {
        let needed = |port| queries.iter().any(|query| query.port() == port);
        let ports = [READS, WRITES].into_iter().filter(|port| needed(*port));
        Self {
            ports: ports.map(|port| (port, false)).collect(),
            kind,
            own: K::Own::of(seat),
            way,
            queries,
            seed: seat.seed,
            event: OpenEvent::new(seat.seed, 0),
            parameters: Parameters::default(),
            link: 0,
            last: 0,
            state: KeyState::Ready,
        }
    }

    fn connect_or_ready(&mut self) -> Step {
        match self.ports.iter().find(|(_, is_set_up)| !is_set_up) {
            Some((port, _)) => Step::Connect(*port),
            None => {
                self.state = KeyState::Ready;
                Step::Ready
            }
        }
    }

    /// Opens the indexes of the queries that go by this link's port.
    fn open_indexes(&mut self, link: LinkNumber, out: &mut Vec<u8>) -> Step {
        self.link = link;
        let port = self.ports.get(usize::from(link)).map(|(port, _)| *port);
        let mut count = 0;
        for (number, query) in (0..).zip(self.queries.iter()) {
            if Some(query.port()) == port {
                count += 1;
                put_open(
                    out,
                    &IndexName {
                        number,
                        database: &self.way.database,
                        table: &query.table,
                        index: &query.index,
                        columns: query.columns,
                    },
                );
                self.last = number as usize;
            }
        }
        self.state = KeyState::Opening;
        Step::Send(Request {
            link,
            class: Class::Uncounted,
            reply: Reply::Several(count),
            ends: None,
        })
    }

    #[inline]
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
            NextStep::Broken(what) => Step::Fail(Box::new(Failure::plain(format!(
                "the tables do not match the workload: there is no {what}"
            )))),
        }
    }

    #[inline]
    fn ask(&mut self, ask: ToAsk, out: &mut Vec<u8>) -> Step {
        self.last = ask.query;
        self.state = KeyState::Asking(ask.ends);
        let Some(query) = self.queries.get(ask.query) else {
            return Step::Stop;
        };
        query.put(out, ask.query as u32, &self.parameters);
        let port = query.port();
        let link = self.ports.iter().position(|(one, _)| *one == port);
        self.link = link.unwrap_or_default() as LinkNumber;
        Step::Send(Request {
            link: self.link,
            class: Class::Of(query.class),
            reply: match port {
                WRITES => Reply::Changed,
                _ => Reply::Counts,
            },
            ends: ask.ends.map(|end| self.ending(end)),
        })
    }

    fn ending(&self, end: EventEnd) -> Ending {
        Ending {
            kind: self.event.kind,
            rolled_back: end == EventEnd::RolledBack,
        }
    }

    fn answered(&mut self, answer: &Answer<'_>, out: &mut Vec<u8>) -> Step {
        match self.state {
            KeyState::Opening => {
                if let Some((_, is_set_up)) = self.ports.get_mut(usize::from(self.link)) {
                    *is_set_up = true;
                }
                self.connect_or_ready()
            }
            KeyState::Asking(ends) => match (answer.error, answer.verdict, ends) {
                (Some(_), Verdict::Retry, _) => {
                    self.state = KeyState::Ready;
                    self.way.retries.again(&self.event, answer.tries)
                }
                (_, _, Some(end)) => Step::EventEnd(self.ending(end)),
                // The requests of such an event do not depend on its answers.
                (_, _, None) => self.go_on(WhyAsked::Unheard, out),
            },
            KeyState::Ready => Step::Ready,
        }
    }

    fn lost(&mut self, link: LinkNumber) -> Step {
        if let Some((_, is_set_up)) = self.ports.get_mut(usize::from(link)) {
            *is_set_up = false;
        }
        self.connect_or_ready()
    }
}

impl<K: Kind> Session for KeySession<K> {
    fn next(&mut self, call: Call<'_>, out: &mut Vec<u8>) -> Step {
        match call {
            Call::Event { cycle, .. } => {
                self.event = OpenEvent::new(self.seed, cycle);
                self.go_on(WhyAsked::Begin, out)
            }
            Call::Answer(answer) => self.answered(answer, out),
            Call::Start => self.connect_or_ready(),
            Call::Connected { link, .. } => self.open_indexes(link, out),
            Call::Lost(link) => self.lost(link),
            Call::Broken(_) => self.lost(self.link),
            Call::Woken => Step::Ready,
            Call::Finish => Step::Stop,
        }
    }

    /// As in the plugin's own description: the opened index, or the key and its purpose.
    fn statement(&self) -> String {
        let Some(query) = self.queries.get(self.last) else {
            return String::new();
        };
        let (database, table, index) = (&self.way.database, &query.table, &query.index);
        if self.state == KeyState::Opening {
            return format!("open_index {database}.{table} {index} ({})", query.columns);
        }
        let mut asked = Vec::new();
        query.put(&mut asked, self.last as u32, &self.parameters);
        let asked = String::from_utf8_lossy(&asked)
            .trim_end()
            .replace('\t', " ");
        format!("{asked} (index {index} of {database}.{table})")
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
