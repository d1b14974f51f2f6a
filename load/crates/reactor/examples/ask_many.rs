//! Logs in on many connections at once and asks each one's number: one thread, no blocking call.
//! The bytes come from this crate, their meaning from `contend-wire`.
//!
//! ```text
//! cargo run -p contend-reactor --example ask_many -- /run/mysqld/mysqld.sock root 100
//! ```

use contend_reactor::engine::{Engine, Epoll, Event};
use contend_reactor::socket::Address;
use contend_reactor::wait::Waker;
use contend_reactor::{Handler, Reactor, run};
use contend_wire::mysql::{AnswerReader, AnswerState, Login, Options, ReplyForm, command};
use contend_wire::{Credentials, WireError};
use std::io;

/// How long to wait for all answers.
const LIMIT_NS: u64 = 5_000_000_000;

enum Stage {
    LoggingIn(Box<Login>),
    Asking(Box<AnswerReader>),
}

struct Connection {
    stage: Stage,
    /// Bytes of an answer that need more bytes to be understood.
    kept: Vec<u8>,
}

impl Connection {
    /// Takes received bytes and appends what to send; true when the answer is whole.
    fn hear(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<bool, WireError> {
        match &mut self.stage {
            Stage::LoggingIn(login) => {
                if let Some(session) = login.receive(bytes, out)? {
                    let mut reader = AnswerReader::new(session.agreed.capabilities);
                    reader.expect(ReplyForm::Results);
                    self.stage = Stage::Asking(Box::new(reader));
                    command::query(out, b"SELECT CONNECTION_ID()");
                }
                Ok(false)
            }
            Stage::Asking(reader) => {
                self.kept.extend_from_slice(bytes);
                let fed = reader.feed(&self.kept)?;
                self.kept.drain(..fed.consumed);
                Ok(fed.state == AnswerState::Done)
            }
        }
    }
}

/// The token of a connection is its place in the list.
struct Asking {
    reactor: Reactor<Epoll>,
    connections: Vec<Connection>,
    answered: usize,
    problem: Option<String>,
}

impl Handler<Epoll> for Asking {
    fn reactor(&mut self) -> &mut Reactor<Epoll> {
        &mut self.reactor
    }

    fn is_over(&self) -> bool {
        self.problem.is_some() || self.answered == self.connections.len()
    }

    fn heard(&mut self, index: usize) {
        let (token, event) = self.reactor.engine.event(index);
        let Some(connection) = self.connections.get_mut(token) else {
            return;
        };
        let mut out = Vec::new();
        match event {
            Event::Bytes(bytes) => match connection.hear(bytes, &mut out) {
                Ok(is_whole) => self.answered += usize::from(is_whole),
                Err(error) => self.problem = Some(error.to_string()),
            },
            Event::Closed(why) => self.problem = Some(format!("a connection was closed: {why:?}")),
            Event::Connected | Event::Woken | Event::Nothing => {}
        }
        if !out.is_empty() {
            self.reactor.engine.send(token, &out);
        }
    }

    fn timer(&mut self, _at_ns: u64, _token: usize, _number: u64) {
        self.problem = Some("the time is over".to_owned());
    }

    fn broken(&mut self, error: io::Error) {
        self.problem = Some(error.to_string());
    }
}

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |usual: &str| arguments.next().unwrap_or_else(|| usual.to_owned());
    let address = Address::Unix(argument("/run/mysqld/mysqld.sock").into());
    let credentials = Credentials {
        user: argument("root"),
        password: std::env::var("MYSQL_PWD").unwrap_or_default(),
    };
    let count = argument("100").parse().map_err(io::Error::other)?;
    let options = Options {
        unix_socket: true,
        ..Options::default()
    };

    let mut engine = Epoll::new(count, Waker::new()?.descriptor()?)?;
    let mut connections = Vec::new();
    for token in 0..count {
        let (socket, connecting) = address.connect()?;
        engine.attach(token, socket, connecting)?;
        let login = Login::new(credentials.clone(), options.clone());
        connections.push(Connection {
            stage: Stage::LoggingIn(Box::new(login)),
            kept: Vec::new(),
        });
    }
    let mut reactor = Reactor::new(engine);
    let limit_ns = reactor.now_ns() + LIMIT_NS;
    reactor.timers.set(limit_ns, 0, 0);
    let mut asking = Asking {
        reactor,
        connections,
        answered: 0,
        problem: None,
    };
    run(&mut asking);
    match asking.problem {
        None => println!("{} connections were answered", asking.answered),
        Some(problem) => println!("{} answered, then: {problem}", asking.answered),
    }
    Ok(())
}
