//! One client: connect, begin, ask, commit, reconnect, end.

use super::{Clients, Text};
use crate::statement::{Parameters, Statement, can_be_prepared};
use contend_client::request::{Class, Ending, Reply, Request};
use contend_engine::workload::{Answer, Call, SeatPlace, Session, Step};
use contend_figures::outcome::Failure;
use contend_random::Stream;
use contend_wire::ServerError;
use contend_wire::mysql::command;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientState {
    Idle,
    Connecting,
    /// Running the statement at this place of those that a connection begins with.
    Beginning(usize),
    /// Preparing the statement at this place of the distinct ones.
    Preparing(usize),
    Asking,
    /// The event ends with this commit; it counts if its statement was good.
    Committing {
        is_good: bool,
    },
    /// The connection is closed after this commit.
    Leaving,
    /// The last commit, after the last event.
    Ending,
}

pub struct Client {
    clients: Arc<Clients>,
    distinct: Vec<Statement>,
    places: Arc<[u32]>,
    seat: SeatPlace,
    /// The place in the list of the statement asked last.
    place: usize,
    /// Statements that were begun.
    asked: u64,
    /// Those of them since the last commit.
    uncommitted: u64,
    /// No connection has been there yet.
    is_first: bool,
    is_open: bool,
    /// The connection was opened again for the next statement.
    is_back: bool,
    /// The event in progress.
    cycle: Option<u64>,
    state: ClientState,
    parameters: Parameters,
    /// The last statement sent that is not in the list.
    last: String,
}

const COMMIT: &str = "COMMIT";

impl Session for Client {
    fn next(&mut self, call: Call<'_>, out: &mut Vec<u8>) -> Step {
        match call {
            Call::Event { cycle, .. } => self.begin(cycle, out),
            Call::Answer(answer) => self.answered(answer, out),
            Call::Start | Call::Lost(_) | Call::Woken => self.connect(),
            Call::Connected { .. } => {
                self.is_open = true;
                if let Some(watch) = &self.clients.watch
                    && self.is_first
                {
                    watch(None);
                }
                self.set_up(0, out)
            }
            Call::Broken(error) => self.broken(error),
            Call::Finish => self.finish(out),
        }
    }

    fn statement(&self) -> String {
        match (self.state, self.clients.statements.get(self.place)) {
            (ClientState::Asking, Some(Text::Plain(sql))) => sql.clone(),
            (ClientState::Asking, Some(Text::ByKey(sql))) => format!("{sql} '{}'", self.key()),
            _ => self.last.clone(),
        }
    }
}

impl Client {
    /// `distinct`: each different text once; `places`: the index there of each statement.
    pub fn new(
        clients: Arc<Clients>,
        distinct: Vec<Statement>,
        places: Arc<[u32]>,
        seat: SeatPlace,
    ) -> Self {
        Self {
            clients,
            distinct,
            places,
            seat,
            place: 0,
            asked: 0,
            uncommitted: 0,
            is_first: true,
            is_open: false,
            is_back: false,
            cycle: None,
            state: ClientState::Idle,
            parameters: Parameters::default(),
            last: String::new(),
        }
    }

    fn connect(&mut self) -> Step {
        self.state = ClientState::Connecting;
        self.is_open = false;
        Step::Connect(0)
    }

    #[inline]
    fn begin(&mut self, cycle: u64, out: &mut Vec<u8>) -> Step {
        self.cycle = Some(cycle);
        let length = self.clients.statements.len();
        self.place = self.seat.in_list(cycle, length, self.clients.is_shared);
        self.ask_or_leave(out)
    }

    /// Opens the connection again first, if it is time.
    #[inline]
    fn ask_or_leave(&mut self, out: &mut Vec<u8>) -> Step {
        let every = self.clients.reconnect_every;
        let leaves = every > 0 && self.asked > 0 && self.asked.is_multiple_of(every);
        match leaves {
            true if !self.is_back => self.leave(out),
            _ => self.ask(out),
        }
    }

    #[cold]
    fn leave(&mut self, out: &mut Vec<u8>) -> Step {
        self.is_back = true;
        if self.clients.commit_every > 0 && self.uncommitted > 0 {
            return self.commit(ClientState::Leaving, out);
        }
        Step::Disconnect(0)
    }

    #[inline]
    fn ask(&mut self, out: &mut Vec<u8>) -> Step {
        self.state = ClientState::Asking;
        self.is_back = false;
        self.asked += 1;
        self.uncommitted += 1;
        if let Some(watch) = &self.clients.watch {
            watch(Some(&self.statement()));
        }
        let statement = self.places.get(self.place);
        let statement = statement.and_then(|place| self.distinct.get(*place as usize));
        if statement.is_some_and(Statement::is_prepared) {
            return self.execute(out);
        }
        match self.clients.statements.get(self.place) {
            Some(Text::Plain(sql)) => command::query(out, sql.as_bytes()),
            Some(Text::ByKey(sql)) => {
                let key = self.key();
                command::query_with(out, |out| {
                    out.extend_from_slice(sql.as_bytes());
                    out.extend_from_slice(b" '");
                    out.extend_from_slice(key.as_bytes());
                    out.push(b'\'');
                });
            }
            None => return Step::Stop,
        }
        self.request()
    }

    fn execute(&mut self, out: &mut Vec<u8>) -> Step {
        self.parameters.clear();
        if let Some(Text::ByKey(_)) = self.clients.statements.get(self.place) {
            let key = self.key_place();
            if let Some(key) = self.clients.keys.get(key) {
                self.parameters.bytes(key.as_bytes());
            }
        }
        let place = self
            .places
            .get(self.place)
            .map_or(0, |place| *place as usize);
        let Some(statement) = self.distinct.get_mut(place) else {
            return Step::Stop;
        };
        match statement.put(out, &self.parameters) {
            Ok(()) => self.request(),
            Err(error) => self.fail(error.to_string(), None),
        }
    }

    #[inline]
    fn request(&self) -> Step {
        let every = self.clients.commit_every;
        let commits = every > 0 && self.uncommitted >= every;
        Step::Send(Request {
            link: 0,
            class: Class::Of(match self.clients.by_statement {
                true => self.place as u8,
                false => 0,
            }),
            reply: Reply::Counts,
            ends: (!commits).then(Ending::default),
        })
    }

    /// The key of the event in progress: different for each event, the same in every run of a seed.
    fn key_place(&self) -> usize {
        let mut stream = Stream::for_cycle(self.seat.seed, self.cycle.unwrap_or_default());
        stream.below(self.clients.keys.len() as u64) as usize
    }

    fn key(&self) -> &str {
        self.clients
            .keys
            .get(self.key_place())
            .map_or("", String::as_str)
    }

    /// Runs the statement at `place` of those that a connection begins with, then prepares.
    fn set_up(&mut self, place: usize, out: &mut Vec<u8>) -> Step {
        match self.clients.init.get(place).cloned() {
            Some(sql) => self.say(sql, ClientState::Beginning(place), out),
            None => {
                self.is_first = false;
                self.distinct.iter_mut().for_each(Statement::forget);
                self.prepare(0, out)
            }
        }
    }

    fn prepare(&mut self, from: usize, out: &mut Vec<u8>) -> Step {
        let mut left = self.distinct.iter().enumerate().skip(from);
        match left.find(|(_, statement)| can_be_prepared(statement.sql())) {
            Some((place, statement)) => {
                statement.put_prepare(out);
                statement.sql().clone_into(&mut self.last);
                self.state = ClientState::Preparing(place);
                uncounted(Reply::Prepared)
            }
            None if self.cycle.is_some() => self.ask_or_leave(out),
            None => {
                self.state = ClientState::Idle;
                Step::Ready
            }
        }
    }

    fn answered(&mut self, answer: &Answer<'_>, out: &mut Vec<u8>) -> Step {
        if let Some(error) = answer.error {
            return self.refused(error, out);
        }
        match self.state {
            ClientState::Beginning(place) => self.set_up(place + 1, out),
            ClientState::Preparing(place) => {
                if let (Some(prepared), Some(statement)) =
                    (answer.prepared, self.distinct.get_mut(place))
                {
                    statement.set_prepared(prepared);
                }
                self.prepare(place + 1, out)
            }
            ClientState::Asking => self.commit(ClientState::Committing { is_good: true }, out),
            ClientState::Leaving => Step::Disconnect(0),
            ClientState::Ending => Step::Stop,
            ClientState::Committing { is_good: false } => self.drop_event(),
            ClientState::Committing { is_good: true }
            | ClientState::Idle
            | ClientState::Connecting => self.end(),
        }
    }

    fn end(&mut self) -> Step {
        self.cycle = None;
        self.state = ClientState::Idle;
        Step::EventEnd(Ending::default())
    }

    fn drop_event(&mut self) -> Step {
        self.cycle = None;
        self.state = ClientState::Idle;
        Step::EventDropped
    }

    fn commit(&mut self, state: ClientState, out: &mut Vec<u8>) -> Step {
        self.uncommitted = 0;
        if let Some(watch) = &self.clients.watch {
            watch(Some(COMMIT));
        }
        self.say(COMMIT.to_owned(), state, out)
    }

    fn say(&mut self, sql: String, state: ClientState, out: &mut Vec<u8>) -> Step {
        command::query(out, sql.as_bytes());
        self.last = sql;
        self.state = state;
        uncounted(Reply::Counts)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Step {
        if self.clients.commit_every > 0 && self.is_open && self.state != ClientState::Ending {
            return self.commit(ClientState::Ending, out);
        }
        Step::Stop
    }

    #[cold]
    fn refused(&mut self, error: &ServerError, out: &mut Vec<u8>) -> Step {
        if self.state == ClientState::Asking && self.clients.ignores.has(error.code) {
            let every = self.clients.commit_every;
            if every > 0 && self.uncommitted >= every {
                return self.commit(ClientState::Committing { is_good: false }, out);
            }
            return self.drop_event();
        }
        self.fail(error.message.clone(), Some(error))
    }

    #[cold]
    fn broken(&mut self, error: &ServerError) -> Step {
        self.is_open = false;
        self.fail(error.message.clone(), Some(error))
    }

    fn fail(&self, message: String, error: Option<&ServerError>) -> Step {
        let (code, sqlstate) = error.map(|e| (e.code, e.sqlstate().to_owned())).unzip();
        let statement = match self.state {
            ClientState::Connecting => None,
            _ => Some(self.statement()),
        };
        Step::Fail(Box::new(Failure {
            message,
            hint: Some(match self.state {
                ClientState::Asking => format!(
                    "client {} of {}, statement {} of its list",
                    self.seat.index + 1,
                    self.seat.count,
                    self.place + 1
                ),
                _ => format!("client {} of {}", self.seat.index + 1, self.seat.count),
            }),
            code,
            sqlstate,
            statement,
        }))
    }
}

fn uncounted(reply: Reply) -> Step {
    Step::Send(Request {
        link: 0,
        class: Class::Uncounted,
        reply,
        ends: None,
    })
}

#[cfg(test)]
mod tests;
