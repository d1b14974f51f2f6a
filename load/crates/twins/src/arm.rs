//! A server that statements are sent to, on one connection.

use super::answer::AnswerDigest;
use super::sample::SampledStatement;
use contend_client::Target;
use contend_client::blocking::{BlockingLink, Broken, ControlConnection, endless};
use contend_client::dialect::Dialect;
use contend_client::failure::of_wire;
use contend_client::request::Reply;
use contend_client::target::target_of;
use contend_figures::outcome::{Failure, TimestampRefused};
use contend_plan::AskArm;
use contend_recording::sql_mode;
use contend_wire::mysql::{ResultRows, command};
use contend_wire::{Capabilities, ServerError, Summary, Value, WireError};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// A statement that was killed may go on for this time before its connection is given up.
const GRACE: Duration = Duration::from_secs(10);
/// For the connection that kills.
const KILL_CONNECT: Duration = Duration::from_secs(5);
const NO_SUCH_TABLE: u16 = 1146;
/// No such database, or no right to it.
const NO_DATABASE: [u16; 2] = [1049, 1044];

/// What became of a statement on an arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskAnswer {
    Rows {
        took_ns: u64,
        /// Sent, or changed.
        rows: u64,
        checksum: u64,
    },
    /// The server refused it, perhaps for a table that it does not have.
    Refused {
        code: u16,
        missing: Option<String>,
    },
    TooSlow,
    NoDatabase,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedOnce {
    pub answer: AskAnswer,
    /// The server warned that the rollback was not a whole one.
    pub stays: bool,
}

/// How statements are sent.
#[derive(Clone, Copy, Debug)]
pub struct AskManner {
    pub limit: Duration,
    pub sets_timestamp: bool,
}

/// State of a session that statements change; none: not known.
#[derive(Debug, Default)]
struct ArmSession {
    database: Option<u32>,
    /// ANSI_QUOTES and NO_BACKSLASH_ESCAPES.
    quotes: Option<(bool, bool)>,
}

pub struct ArmLink<'p> {
    arm: &'p AskArm,
    target: Target,
    link: BlockingLink,
    /// The server's number of the connection.
    connection: String,
    /// The session's own `sql_mode`.
    sql_mode: String,
    session: ArmSession,
    lacks_databases: BTreeSet<u32>,
    pub server_version: String,
    pub reconnects: u64,
}

impl<'p> ArmLink<'p> {
    /// Connects and sends the statements of the plan.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses the login or a statement.
    pub fn open(arm: &'p AskArm) -> Result<Self, Failure> {
        let target = target_of(&arm.server).map_err(|words| of_arm(arm, Failure::plain(words)))?;
        let mut target = Target { ..target };
        // One statement is one statement, and no file of ours goes anywhere.
        (target.options.multi_statements, target.options.local_infile) = (false, false);
        let link = Self::connect(arm, &target)?;
        let agreed = link.link().agreed();
        let server_version = agreed.map(|agreed| agreed.server_version.clone());
        let mut opened = Self {
            arm,
            target,
            link,
            connection: String::new(),
            sql_mode: String::new(),
            session: ArmSession::default(),
            lacks_databases: BTreeSet::new(),
            server_version: server_version.unwrap_or_default(),
            reconnects: 0,
        };
        opened.enter()?;
        Ok(opened)
    }

    fn connect(arm: &AskArm, target: &Target) -> Result<BlockingLink, Failure> {
        let link = BlockingLink::open(target);
        let mut link = link.map_err(|broken| of_arm(arm, broken.unopened(&target.address)))?;
        link.doubt(target.clone());
        Ok(link)
    }

    fn enter(&mut self) -> Result<(), Failure> {
        let arm = self.arm;
        for sql in arm.server.init_sql.iter().chain(&arm.enter) {
            let (_, error) = self.told(|link| link.send(sql.as_bytes()))?;
            if let Some(error) = error {
                let failure = contend_client::failure::of_statement(&error, sql.clone());
                return Err(of_arm(arm, failure));
            }
        }
        self.session = ArmSession::default();
        let row = self.told(|link| link.row(b"SELECT CONNECTION_ID(), @@sql_mode"))?;
        let mut row = row.into_iter();
        self.connection = row.next().unwrap_or_default();
        self.sql_mode = row.next().unwrap_or_default();
        Ok(())
    }

    fn told<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Broken>) -> Result<T, Failure> {
        work(self).map_err(|broken| of_arm(self.arm, broken.failure(&self.target.address)))
    }

    /// Sends a statement of ours, without timing. An error of the server is an answer.
    fn send(&mut self, sql: &[u8]) -> Result<(Summary, Option<ServerError>), Broken> {
        let write = |out: &mut Vec<u8>| command::query(out, sql);
        self.link.ask(Reply::Counts, write, &mut endless)?;
        self.listen()
    }

    fn listen(&mut self) -> Result<(Summary, Option<ServerError>), Broken> {
        if self.link.listen(&mut endless)? {
            return Err(wants_file().into());
        }
        let link = self.link.link();
        Ok((*link.summary(), link.error().cloned()))
    }

    /// The first row of a query, as text.
    fn row(&mut self, sql: &[u8]) -> Result<Vec<String>, Broken> {
        let write = |out: &mut Vec<u8>| command::query(out, sql);
        self.link.ask(Reply::Whole, write, &mut endless)?;
        let mut bytes = Vec::new();
        let mut take = |piece: &[u8]| {
            bytes.extend_from_slice(piece);
            Ok(())
        };
        self.link.listen_to(&mut take, &mut endless)?;
        let mut row = Vec::new();
        ResultRows::new(&bytes, self.capabilities()).next_row(|value| {
            row.push(match value {
                Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                _ => String::new(),
            });
        })?;
        Ok(row)
    }

    fn capabilities(&self) -> Capabilities {
        let agreed = self.link.link().agreed();
        agreed.map_or(Capabilities::NONE, |agreed| agreed.capabilities)
    }

    /// Why the session's `timestamp` cannot be set, if so.
    ///
    /// # Errors
    /// The server is gone.
    pub fn refuses_timestamp(&mut self) -> Result<Option<TimestampRefused>, Failure> {
        let (_, error) = self.told(|link| link.send(b"SET timestamp=1000000000"))?;
        self.told(|link| link.send(b"SET timestamp=DEFAULT"))?;
        Ok(error.map(|error| TimestampRefused {
            arm: self.arm.name.clone(),
            code: error.code,
            message: error.message,
        }))
    }

    /// Sends a statement. A lost connection is opened again once.
    ///
    /// # Errors
    /// The connection is lost twice, or cannot be opened again.
    pub fn ask(
        &mut self,
        statement: &SampledStatement,
        databases: &[Vec<u8>],
        manner: AskManner,
    ) -> Result<AskedOnce, Failure> {
        if let Ok(asked) = self.try_ask(statement, databases, manner) {
            return Ok(asked);
        }
        let number = statement.number;
        let named = |arm: &AskArm, failure: Failure| Failure {
            message: format!("arm {}: statement {number}: {}", arm.name, failure.message),
            ..failure
        };
        let link = BlockingLink::open(&self.target);
        let address = &self.target.address;
        let mut link = link.map_err(|broken| named(self.arm, broken.unopened(address)))?;
        link.doubt(self.target.clone());
        self.link = link;
        self.reconnects += 1;
        self.enter()?;
        let asked = self.try_ask(statement, databases, manner);
        asked.map_err(|broken| named(self.arm, broken.failure(&self.target.address)))
    }

    fn try_ask(
        &mut self,
        statement: &SampledStatement,
        databases: &[Vec<u8>],
        manner: AskManner,
    ) -> Result<AskedOnce, Broken> {
        let done = |answer| {
            Ok(AskedOnce {
                answer,
                stays: false,
            })
        };
        if !self.choose(statement.database, databases)? {
            return done(AskAnswer::NoDatabase);
        }
        if let Some(error) = self.prepare(statement, manner.sets_timestamp)? {
            return done(refused(&error));
        }
        if statement.is_read {
            return self.timed(&statement.text, manner.limit).and_then(done);
        }
        if let (_, Some(error)) = self.send(b"START TRANSACTION")? {
            return done(refused(&error));
        }
        let answer = self.timed(&statement.text, manner.limit)?;
        let (summary, error) = self.send(b"ROLLBACK")?;
        Ok(AskedOnce {
            answer,
            stays: error.is_some() || summary.warnings > 0,
        })
    }

    /// Makes the statement's database the session's. False: the server does not have it.
    fn choose(&mut self, number: u32, databases: &[Vec<u8>]) -> Result<bool, Broken> {
        let own = self.arm.server.database.as_deref();
        let named = match number {
            // It is not known.
            0 => own.map(str::to_owned),
            _ => databases
                .get(number as usize)
                .map(|name| String::from_utf8_lossy(name).into_owned()),
        };
        let Some(name) = named else {
            return Ok(true);
        };
        if self.lacks_databases.contains(&number) {
            return Ok(false);
        }
        if self.session.database == Some(number) {
            return Ok(true);
        }
        let write = |out: &mut Vec<u8>| command::init_db(out, &name);
        self.link.ask(Reply::Counts, write, &mut endless)?;
        let (_, error) = self.listen()?;
        let lacks = error.is_some_and(|error| NO_DATABASE.contains(&error.code));
        if lacks {
            self.lacks_databases.insert(number);
        } else {
            self.session.database = Some(number);
        }
        Ok(!lacks)
    }

    /// Brings the session into the state that the statement was logged in.
    fn prepare(
        &mut self,
        statement: &SampledStatement,
        sets_timestamp: bool,
    ) -> Result<Option<ServerError>, Broken> {
        let quotes = (statement.ansi_quotes, statement.no_backslash_escapes);
        if self.session.quotes != Some(quotes) {
            let sql = format!(
                "SET sql_mode='{}'",
                sql_mode(&self.sql_mode, quotes.0, quotes.1)
            );
            if let (_, Some(error)) = self.send(sql.as_bytes())? {
                return Ok(Some(error));
            }
            self.session.quotes = Some(quotes);
        }
        let mut set = Vec::new();
        if sets_timestamp {
            set.push(match statement.timestamp_us {
                Some(us) => format!("timestamp={}.{:06}", us / 1_000_000, us % 1_000_000),
                None => "timestamp=DEFAULT".to_owned(),
            });
        }
        set.extend(
            statement
                .last_insert_id
                .map(|id| format!("last_insert_id={id}")),
        );
        if set.is_empty() {
            return Ok(None);
        }
        let (_, error) = self.send(format!("SET {}", set.join(",")).as_bytes())?;
        Ok(error)
    }

    fn timed(&mut self, text: &[u8], limit: Duration) -> Result<AskAnswer, Broken> {
        let mut digest = AnswerDigest::new(self.capabilities());
        let address = self.target.address.clone();
        let guard = KillGuard::new(&self.target, &self.connection, limit);
        let write = |out: &mut Vec<u8>| command::query(out, text);
        let mut patience = |_| guard.look();
        let mut take = |piece: &[u8]| {
            guard.look()?;
            let taken = digest.take(piece);
            taken.map_err(|error| of_wire(&address, &error))
        };
        let begun = Instant::now();
        let asked = self.link.ask(Reply::Whole, write, &mut patience);
        let heard = asked.and_then(|()| self.link.listen_to(&mut take, &mut patience));
        let took = begun.elapsed();
        let stage = guard.stage.get();
        if stage == KillStage::GivenUp {
            self.link = BlockingLink::open(&self.target)?;
            self.link.doubt(self.target.clone());
            self.enter().map_err(Broken::Ended)?;
            return Ok(AskAnswer::TooSlow);
        }
        if heard? {
            return Err(wants_file().into());
        }
        if stage != KillStage::Waits {
            // In case the kill came after the end: it must not meet the next statement.
            self.send(b"DO 0")?;
        }
        if stage != KillStage::Waits || took > limit {
            return Ok(AskAnswer::TooSlow);
        }
        if let Some(error) = self.link.link().error() {
            return Ok(refused(error));
        }
        digest.read()?;
        let changed = self.link.link().summary().affected_rows;
        Ok(AskAnswer::Rows {
            took_ns: u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
            rows: digest.count + changed,
            checksum: digest.sum,
        })
    }
}

fn of_arm(arm: &AskArm, failure: Failure) -> Failure {
    Failure {
        message: format!("arm {}: {}", arm.name, failure.message),
        ..failure
    }
}

fn wants_file() -> WireError {
    WireError::Theirs("it requests a local file".into())
}

fn refused(error: &ServerError) -> AskAnswer {
    let is_missing = error.code == NO_SUCH_TABLE;
    // Behind the name: "doesn't exist", or that in a different language.
    let quoted = is_missing.then(|| error.message.split_once('\'')).flatten();
    let name = quoted.and_then(|(_, rest)| rest.split_once("' ").or(rest.split_once('\'')));
    AskAnswer::Refused {
        code: error.code,
        missing: name.map(|(name, _)| name.to_owned()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KillStage {
    Waits,
    Killed(Instant),
    GivenUp,
}

/// Kills a statement that takes too long, over a second connection.
struct KillGuard<'a> {
    target: &'a Target,
    connection: &'a str,
    limit: Duration,
    begun: Instant,
    stage: Cell<KillStage>,
}

impl<'a> KillGuard<'a> {
    fn new(target: &'a Target, connection: &'a str, limit: Duration) -> Self {
        Self {
            target,
            connection,
            limit,
            begun: Instant::now(),
            stage: Cell::new(KillStage::Waits),
        }
    }

    /// Called while the statement runs.
    ///
    /// # Errors
    /// It goes on though it was killed.
    fn look(&self) -> Result<(), Failure> {
        match self.stage.get() {
            KillStage::Waits if self.begun.elapsed() > self.limit => {
                self.kill("QUERY");
                self.stage.set(KillStage::Killed(Instant::now()));
                Ok(())
            }
            KillStage::Killed(at) if at.elapsed() > GRACE => {
                self.kill("CONNECTION");
                self.stage.set(KillStage::GivenUp);
                Err(Failure::plain("a statement goes on though it was killed"))
            }
            KillStage::GivenUp => Err(Failure::plain("its connection was given up")),
            _ => Ok(()),
        }
    }

    /// A kill that fails is one that does not help: the connection is given up then.
    fn kill(&self, which: &str) {
        let target = Target {
            connect_timeout: self.target.connect_timeout.min(KILL_CONNECT),
            ..self.target.clone()
        };
        let sql = format!("KILL {which} {}", self.connection);
        let _ =
            ControlConnection::open(&target).and_then(|mut killer| killer.run(&sql, &mut endless));
    }
}
