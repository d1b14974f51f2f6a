//! One connection that sends recorded transactions.

use super::RecordedTexts;
use super::ahead::{Ahead, AheadTaken, SentTransaction};
use crate::async_session::{AsyncSession, Driver, DriverCall, SessionState};
use crate::native::OpenEvent;
use contend_client::request::{Class, Ending, Reply, Request};
use contend_engine::workload::{Answer, Call, SeatPlace, Session, Step};
use contend_recording::sql_mode;
use contend_wire::mysql::{ResultRows, command};
use contend_wire::{Capabilities, Value};
use std::sync::Arc;
use std::time::Duration;

/// Until a transaction that is not read yet is looked for again.
const SOON: Duration = Duration::from_millis(1);
const ROLLBACK: &str = "ROLLBACK";
const OWN_MODE: &str = "SELECT @@sql_mode";

/// The session of one seat. `is_known`: the server has the database with this number.
pub fn session(
    texts: Arc<RecordedTexts>,
    ahead: Arc<Ahead>,
    is_known: Box<[bool]>,
    seat: SeatPlace,
) -> impl Session {
    let state = RecordedState {
        texts,
        ahead,
        is_known,
        seed: seat.seed,
        cycle: None,
        transaction: SentTransaction::default(),
        place: 0,
        database: 0,
        quotes: (false, false),
        modes: Default::default(),
        last: LastSent::Other(String::new()),
    };
    AsyncSession::new(state, async move |driver| {
        let mut client = RecordedClient {
            driver,
            capabilities: Capabilities::NONE,
        };
        let mut heard = client.driver.heard();
        loop {
            heard = match heard {
                DriverCall::Event(cycle) => client.event(cycle).await,
                DriverCall::Connected { capabilities, .. } => client.set_up(capabilities).await,
                DriverCall::Start | DriverCall::Lost(_) | DriverCall::Broken => {
                    client.driver.step(Step::Connect(0)).await
                }
                DriverCall::Answer | DriverCall::Woken => client.driver.step(Step::Ready).await,
                DriverCall::Finish => client.driver.step(Step::Stop).await,
            };
        }
    })
}

struct RecordedState {
    texts: Arc<RecordedTexts>,
    ahead: Arc<Ahead>,
    is_known: Box<[bool]>,
    seed: u64,
    /// The event whose transaction is there.
    cycle: Option<u64>,
    transaction: SentTransaction,
    /// The statement of the transaction that comes next, or was sent last.
    place: usize,
    /// The session's database; 0 is that of the connection.
    database: u32,
    /// `ANSI_QUOTES` and `NO_BACKSLASH_ESCAPES` of the session.
    quotes: (bool, bool),
    /// The statements that set these, for each of their four values.
    modes: [String; 4],
    last: LastSent,
}

enum LastSent {
    /// The statement at the place.
    Statement,
    Database(u32),
    Mode((bool, bool)),
    Other(String),
}

/// The functions below do steps, and return why the driver called after them.
struct RecordedClient {
    driver: Driver<RecordedState>,
    capabilities: Capabilities,
}

impl RecordedClient {
    /// Sends what every connection begins with.
    async fn set_up(&mut self, capabilities: Capabilities) -> DriverCall {
        self.capabilities = capabilities;
        let init = self
            .driver
            .with(|turn| Arc::clone(&turn.state.texts.way.init));
        for sql in &*init {
            match self.say(sql, Reply::Counts).await {
                DriverCall::Answer => {}
                heard => return heard,
            }
        }
        match self.say(OWN_MODE, Reply::Whole).await {
            DriverCall::Answer => {}
            heard => return heard,
        }
        let own = self.own_mode();
        self.driver.with(|turn| turn.state.begin_session(&own));
        self.driver.step(Step::Ready).await
    }

    fn own_mode(&mut self) -> String {
        let capabilities = self.capabilities;
        self.driver.with(|turn| {
            let Call::Answer(answer) = turn.call else {
                return String::new();
            };
            let mut own = String::new();
            let mut rows = ResultRows::new(answer.bytes.unwrap_or_default(), capabilities);
            let read = rows.next_row(|value| {
                if let Value::Bytes(bytes) = value {
                    own = String::from_utf8_lossy(bytes).into_owned();
                }
            });
            read.map(|_| own).unwrap_or_default()
        })
    }

    /// Sends a statement that is not of the recording.
    async fn say(&mut self, sql: &str, reply: Reply) -> DriverCall {
        self.driver.with(|turn| {
            command::query(turn.out, sql.as_bytes());
            turn.state.last = LastSent::Other(sql.to_owned());
            *turn.step = uncounted(reply);
        });
        self.driver.called().await
    }

    async fn event(&mut self, cycle: u64) -> DriverCall {
        loop {
            match self.driver.with(|turn| turn.state.begin(cycle)) {
                AheadTaken::Copied => break,
                AheadTaken::Soon => match self.driver.step(Step::Sleep(SOON)).await {
                    DriverCall::Woken => {}
                    heard => return heard,
                },
                AheadTaken::Failed(failure) => return self.driver.step(Step::Fail(failure)).await,
            }
        }
        let mut is_good = false;
        while let Some(step) = self.driver.with(|turn| turn.state.next(turn.out)) {
            // A good answer that ends the event is followed by the next call.
            match self.driver.step(step).await {
                DriverCall::Answer if self.is(|answer| answer.is_retried()) => {
                    return self.again(cycle).await;
                }
                DriverCall::Answer => {
                    let is_refused = self.is(|answer| answer.error.is_some());
                    is_good |= self.driver.with(|turn| turn.state.answered(is_refused));
                }
                heard => return heard,
            }
        }
        let ending = self.driver.with(|turn| turn.state.ending());
        let step = match is_good {
            true => Step::EventEnd(ending),
            false => Step::EventDropped,
        };
        self.driver.step(step).await
    }

    fn is(&mut self, what: impl FnOnce(&Answer<'_>) -> bool) -> bool {
        self.driver
            .with(|turn| matches!(turn.call, Call::Answer(answer) if what(answer)))
    }

    /// Begins the event again, or gives it up.
    #[cold]
    async fn again(&mut self, cycle: u64) -> DriverCall {
        let tries = self.driver.with(|turn| match turn.call {
            Call::Answer(answer) => answer.tries,
            _ => 0,
        });
        if self.driver.with(|turn| turn.state.texts.writes) {
            match self.say(ROLLBACK, Reply::Counts).await {
                DriverCall::Answer => {}
                heard => return heard,
            }
        }
        let step = self.driver.with(|turn| {
            let retries = turn.state.texts.way.retries;
            retries.again(&OpenEvent::new(turn.state.seed, cycle), tries)
        });
        self.driver.step(step).await
    }
}

impl RecordedState {
    /// A new connection is as the server makes it.
    fn begin_session(&mut self, own_mode: &str) {
        let has = |mode| own_mode.split(',').any(|own| own == mode);
        self.quotes = (has("ANSI_QUOTES"), has("NO_BACKSLASH_ESCAPES"));
        self.database = 0;
        self.modes = [(false, false), (false, true), (true, false), (true, true)].map(
            |(ansi_quotes, no_backslash_escapes)| {
                let mode = sql_mode(own_mode, ansi_quotes, no_backslash_escapes);
                format!("SET sql_mode='{mode}'")
            },
        );
    }

    /// The transaction of an event; one that is begun again keeps its own.
    fn begin(&mut self, cycle: u64) -> AheadTaken {
        self.place = 0;
        if self.cycle == Some(cycle) {
            return AheadTaken::Copied;
        }
        let taken = self.ahead.take(cycle, &mut self.transaction);
        if taken == AheadTaken::Copied {
            self.cycle = Some(cycle);
        }
        taken
    }

    /// The next request of the transaction: the statement at the place, or what must be as logged
    /// before it.
    fn next(&mut self, out: &mut Vec<u8>) -> Option<Step> {
        let statement = self.transaction.statements.get(self.place)?;
        let class = Class::Of(statement.class);
        let (database, quotes) = (statement.database, statement.quotes());
        if self.database != database
            && let Some(name) = self.texts.database(database)
        {
            command::init_db(out, name);
            self.last = LastSent::Database(database);
            let is_known = database == 0 || self.is_known.get(database as usize) == Some(&true);
            // If the server may not have it, its refusal is the statement's error.
            return Some(match is_known {
                true => uncounted(Reply::Counts),
                false => counts(class, None),
            });
        }
        if self.quotes != quotes {
            command::query(out, self.mode(quotes).as_bytes());
            self.last = LastSent::Mode(quotes);
            return Some(uncounted(Reply::Counts));
        }
        command::query(out, self.transaction.text(statement));
        self.last = LastSent::Statement;
        let is_last = self.place + 1 == self.transaction.statements.len();
        Some(counts(class, is_last.then(|| self.ending())))
    }

    /// The request was answered; whether that was a statement, well.
    fn answered(&mut self, is_refused: bool) -> bool {
        match self.last {
            LastSent::Statement => self.place += 1,
            // Its statement is not for a different database.
            LastSent::Database(_) if is_refused => self.place += 1,
            LastSent::Database(number) => self.database = number,
            LastSent::Mode(quotes) => self.quotes = quotes,
            LastSent::Other(_) => {}
        }
        matches!(self.last, LastSent::Statement) && !is_refused
    }

    fn mode(&self, (ansi_quotes, no_backslash_escapes): (bool, bool)) -> &str {
        let place = usize::from(ansi_quotes) * 2 + usize::from(no_backslash_escapes);
        self.modes.get(place).map_or("", String::as_str)
    }

    fn ending(&self) -> Ending {
        Ending {
            kind: 0,
            rolled_back: self.transaction.rolls_back,
        }
    }
}

impl SessionState for RecordedState {
    /// The template of a statement of the recording, so that no value shows.
    fn statement(&self) -> String {
        match &self.last {
            LastSent::Database(number) => {
                let name = self.texts.database(*number).unwrap_or_default();
                format!("USE `{name}`")
            }
            LastSent::Mode(quotes) => self.mode(*quotes).to_owned(),
            LastSent::Other(sql) => sql.clone(),
            LastSent::Statement => {
                let statement = self.transaction.statements.get(self.place);
                let template = statement.and_then(|statement| statement.template);
                let texts = template.and_then(|number| self.texts.templates.get(number as usize));
                texts.cloned().unwrap_or_default()
            }
        }
    }
}

fn counts(class: Class, ends: Option<Ending>) -> Step {
    Step::Send(Request {
        link: 0,
        class,
        reply: Reply::Counts,
        ends,
    })
}

fn uncounted(reply: Reply) -> Step {
    Step::Send(Request {
        link: 0,
        class: Class::Uncounted,
        reply,
        ends: None,
    })
}
