//! One client: connect, begin, ask, commit, reconnect, end.

use super::{Clients, Text};
use crate::async_session::{AsyncSession, Driver, DriverCall, SessionState};
use crate::statement::{Parameters, Statement, can_be_prepared};
use contend_client::request::{Class, Ending, Reply, Request};
use contend_engine::workload::{Call, SeatPlace, Session, Step};
use contend_figures::outcome::Failure;
use contend_random::Stream;
use contend_wire::ServerError;
use contend_wire::mysql::command;
use std::convert::Infallible;
use std::sync::Arc;

const COMMIT: &str = "COMMIT";

/// The session of one client. `distinct`: each different text once; `places`: the index there of
/// each statement.
pub fn session(
    clients: Arc<Clients>,
    distinct: Vec<Statement>,
    places: Arc<[u32]>,
    seat: SeatPlace,
) -> impl Session {
    let state = ClientState {
        clients: Arc::clone(&clients),
        distinct,
        places,
        seat,
        place: 0,
        cycle: 0,
        values: Parameters::default(),
        last: LastAsked::Connect,
    };
    AsyncSession::new(state, async move |driver| {
        let mut client = Client {
            driver,
            clients,
            asked: 0,
            uncommitted: 0,
            is_first: true,
            is_open: false,
        };
        let mut step = match client.live().await {
            Ok(never) => match never {},
            Err(step) => step,
        };
        loop {
            client.driver.step(step).await;
            step = Step::Stop;
        }
    })
}

struct ClientState {
    clients: Arc<Clients>,
    distinct: Vec<Statement>,
    places: Arc<[u32]>,
    seat: SeatPlace,
    /// The place in the list of the statement asked last.
    place: usize,
    /// The event in progress.
    cycle: u64,
    values: Parameters,
    last: LastAsked,
}

/// The step done last.
enum LastAsked {
    Connect,
    /// A statement that is not in the list.
    Say(String),
    /// The statement at the place.
    Ask,
}

/// The functions below fail with the step that ends the client.
struct Client {
    driver: Driver<ClientState>,
    clients: Arc<Clients>,
    /// Statements that were begun.
    asked: u64,
    /// Those of them since the last commit.
    uncommitted: u64,
    /// No connection has been there yet.
    is_first: bool,
    is_open: bool,
}

impl Client {
    async fn live(&mut self) -> Result<Infallible, Step> {
        self.connect().await?;
        let mut heard = self.driver.step(Step::Ready).await;
        loop {
            heard = match heard {
                DriverCall::Event(cycle) => self.event(cycle).await?,
                DriverCall::Finish if self.clients.commit_every > 0 && self.is_open => {
                    self.commit().await?;
                    return Err(Step::Stop);
                }
                DriverCall::Finish => return Err(Step::Stop),
                DriverCall::Broken => return Err(self.failed()),
                _ => self.driver.step(Step::Ready).await,
            };
        }
    }

    /// Connects, runs the statements that a connection begins with, and prepares those of the list.
    async fn connect(&mut self) -> Result<(), Step> {
        self.driver
            .with(|turn| turn.state.last = LastAsked::Connect);
        match self.driver.step(Step::Connect(0)).await {
            DriverCall::Connected { .. } => {}
            DriverCall::Broken => return Err(self.failed()),
            _ => return Err(Step::Stop),
        }
        self.is_open = true;
        let clients = Arc::clone(&self.clients);
        if std::mem::take(&mut self.is_first) {
            self.watch(None);
        }
        for sql in &clients.init {
            self.say(sql).await?;
        }
        self.prepare().await
    }

    async fn prepare(&mut self) -> Result<(), Step> {
        let count = self.driver.with(|turn| {
            turn.state.distinct.iter_mut().for_each(Statement::forget);
            turn.state.distinct.len()
        });
        for place in 0..count {
            let is_asked = self.driver.with(|turn| {
                let statement = turn.state.distinct.get(place);
                let Some(statement) = statement.filter(|known| can_be_prepared(known.sql())) else {
                    return false;
                };
                statement.put_prepare(turn.out);
                turn.state.last = LastAsked::Say(statement.sql().to_owned());
                *turn.step = uncounted(Reply::Prepared);
                true
            });
            if !is_asked {
                continue;
            }
            self.answer().await?;
            self.driver.with(|turn| {
                if let Call::Answer(answer) = turn.call
                    && let Some(prepared) = answer.prepared
                    && let Some(statement) = turn.state.distinct.get_mut(place)
                {
                    statement.set_prepared(prepared);
                }
            });
        }
        Ok(())
    }

    /// One event. Returns why the driver called after it.
    async fn event(&mut self, cycle: u64) -> Result<DriverCall, Step> {
        self.driver.with(|turn| turn.state.begin(cycle));
        let every = self.clients.reconnect_every;
        if every > 0 && self.asked > 0 && self.asked.is_multiple_of(every) {
            if self.clients.commit_every > 0 && self.uncommitted > 0 {
                self.commit().await?;
            }
            self.is_open = false;
            self.driver.step(Step::Disconnect(0)).await;
            self.connect().await?;
        }
        self.asked += 1;
        self.uncommitted += 1;
        let every = self.clients.commit_every;
        let commits = every > 0 && self.uncommitted >= every;
        self.driver
            .with(|turn| *turn.step = turn.state.ask(commits, turn.out));
        // A good answer that ends the event is followed by the next call.
        let heard = self.driver.called().await;
        let DriverCall::Answer = heard else {
            return Ok(heard);
        };
        let is_good = match self.error() {
            None => true,
            Some(error) if self.clients.ignores.has(error.code) => false,
            Some(_) => return Err(self.failed()),
        };
        if commits {
            self.commit().await?;
        }
        let step = match is_good {
            true => Step::EventEnd(Ending::default()),
            false => Step::EventDropped,
        };
        Ok(self.driver.step(step).await)
    }

    async fn commit(&mut self) -> Result<(), Step> {
        self.uncommitted = 0;
        self.watch(Some(COMMIT));
        self.say(COMMIT).await
    }

    fn watch(&self, statement: Option<&str>) {
        if let Some(watch) = &self.clients.watch {
            watch(statement);
        }
    }

    /// A statement that is not in the list.
    async fn say(&mut self, sql: &str) -> Result<(), Step> {
        self.driver.with(|turn| {
            command::query(turn.out, sql.as_bytes());
            turn.state.last = LastAsked::Say(sql.to_owned());
            *turn.step = uncounted(Reply::Counts);
        });
        self.answer().await
    }

    /// Waits for a good answer.
    async fn answer(&mut self) -> Result<(), Step> {
        match self.driver.called().await {
            DriverCall::Answer if self.error().is_none() => Ok(()),
            DriverCall::Answer | DriverCall::Broken => Err(self.failed()),
            _ => Err(Step::Stop),
        }
    }

    /// Why the last request failed.
    fn error(&mut self) -> Option<ServerError> {
        self.driver.with(|turn| match turn.call {
            Call::Answer(answer) => answer.error.cloned(),
            Call::Broken(error) => Some((*error).clone()),
            _ => None,
        })
    }

    #[cold]
    fn failed(&mut self) -> Step {
        let error = self.error().unwrap_or_default();
        self.driver.with(|turn| {
            let state = &*turn.state;
            let mut failure = state.failure(error.message.clone());
            (failure.code, failure.sqlstate) =
                (Some(error.code), Some(error.sqlstate().to_owned()));
            Step::Fail(Box::new(failure))
        })
    }
}

impl ClientState {
    /// Finds the place of the statement of an event.
    fn begin(&mut self, cycle: u64) {
        self.cycle = cycle;
        let length = self.clients.statements.len();
        self.place = self.seat.in_list(cycle, length, self.clients.is_shared);
    }

    /// Puts the statement of the event, with whose good answer the event ends unless a commit
    /// follows.
    fn ask(&mut self, commits: bool, out: &mut Vec<u8>) -> Step {
        self.last = LastAsked::Ask;
        if let Some(watch) = &self.clients.watch {
            watch(Some(&self.statement()));
        }
        let clients = Arc::clone(&self.clients);
        let (sql, key) = match clients.statements.get(self.place) {
            Some(Text::Plain(sql)) => (sql, None),
            Some(Text::ByKey(sql)) => (sql, clients.keys.get(self.key_place())),
            None => return Step::Stop,
        };
        self.values.clear();
        if let Some(key) = key {
            self.values.bytes(key.as_bytes());
        }
        let statement = self.places.get(self.place);
        let statement = statement.and_then(|place| self.distinct.get_mut(*place as usize));
        match (statement.filter(|known| known.is_prepared()), key) {
            (Some(statement), _) => {
                if let Err(error) = statement.put(out, &self.values) {
                    return Step::Fail(Box::new(self.failure(error.to_string())));
                }
            }
            (None, None) => command::query(out, sql.as_bytes()),
            (None, Some(key)) => command::query_with(out, |out| {
                for part in [sql, " '", key, "'"] {
                    out.extend_from_slice(part.as_bytes());
                }
            }),
        }
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
        let mut stream = Stream::for_cycle(self.seat.seed, self.cycle);
        stream.below(self.clients.keys.len() as u64) as usize
    }

    fn key(&self) -> &str {
        let key = self.clients.keys.get(self.key_place());
        key.map_or("", String::as_str)
    }

    fn failure(&self, message: String) -> Failure {
        let client = format!("client {} of {}", self.seat.index + 1, self.seat.count);
        let (hint, statement) = match self.last {
            LastAsked::Connect => (client, None),
            LastAsked::Say(_) => (client, Some(self.statement())),
            LastAsked::Ask => {
                let place = self.place + 1;
                let hint = format!("{client}, statement {place} of its list");
                (hint, Some(self.statement()))
            }
        };
        Failure {
            hint: Some(hint),
            statement,
            ..Failure::plain(message)
        }
    }
}

impl SessionState for ClientState {
    fn statement(&self) -> String {
        match (&self.last, self.clients.statements.get(self.place)) {
            (LastAsked::Ask, Some(Text::Plain(sql))) => sql.clone(),
            (LastAsked::Ask, Some(Text::ByKey(sql))) => format!("{sql} '{}'", self.key()),
            (LastAsked::Say(sql), _) => sql.clone(),
            (LastAsked::Connect | LastAsked::Ask, _) => String::new(),
        }
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
