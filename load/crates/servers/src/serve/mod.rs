//! The server's side of the protocol, without a socket: a client's bytes in, answers out.
//!
//! [`ServedSession`] is the session of one client: greeting, login, commands, prepared statements.
//! The answers come from the trait [`Answering`]: a statement in, the bytes of its answer out. The
//! null server uses [`Canned`], the model server answers from its rows. This module does not know
//! who owns the sockets: an event loop, or a thread per client.

mod canned;
mod number;
mod pace;
mod reply;
mod session;
mod station;
mod text;

pub use canned::Canned;
pub use number::Demand;
pub use pace::{ServicePace, Stalls};
pub use reply::{Cell, ColumnOut, ReplyWriter};
pub use session::{Received, ServedSession, TAIL_BYTES_MAX, turn_away};
pub use station::{Granted, ServiceTime, Station};

use contend_wire::mysql::BoundValues;

/// How a server answers. Each thread that serves clients has its own instance: an event loop with
/// many clients, or a thread for one. The instances hold the state that the threads share.
pub trait Answering {
    /// The state kept per client.
    type Client: Send;
    /// The state kept per prepared statement.
    type Statement: Send;

    /// The server's version, as in the greeting.
    const VERSION: &str;

    /// A client has connected; its connection has this number.
    fn welcome(&mut self, number: u32) -> Self::Client;

    /// The client chooses a database, when it logs in or later.
    ///
    /// # Errors
    /// The reason why it cannot have it.
    fn choose(&mut self, _client: &mut Self::Client, _database: &[u8]) -> Result<(), Refusal> {
        Ok(())
    }

    /// Answers a statement that came as text.
    fn query(&mut self, client: &mut Self::Client, sql: &[u8], reply: &mut ReplyWriter<'_>);

    /// Prepares a statement, so that it can be executed many times.
    ///
    /// # Errors
    /// The reason why the statement cannot be prepared.
    fn prepare(
        &mut self,
        client: &mut Self::Client,
        sql: &[u8],
    ) -> Result<Self::Statement, Refusal>;

    /// The number of parameters of a prepared statement, and the columns of its result.
    fn shape<'s>(&'s self, statement: &'s Self::Statement) -> (u16, &'s [ColumnOut]);

    /// Answers an execution with the values that the client has bound.
    fn execute(
        &mut self,
        client: &mut Self::Client,
        statement: &Self::Statement,
        values: BoundValues<'_>,
        reply: &mut ReplyWriter<'_>,
    );
}

/// An error for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: u16,
    pub sqlstate: [u8; 5],
    pub message: String,
}

impl Refusal {
    pub fn new(code: u16, sqlstate: &[u8; 5], message: impl Into<String>) -> Self {
        Self {
            code,
            sqlstate: *sqlstate,
            message: message.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use contend_wire::mysql::value::kind;
    use contend_wire::mysql::{
        AnswerReader, AnswerState, Login, Options, PreparedStatement, ReplyForm as Due, command,
    };
    use contend_wire::{Capabilities, Credentials, Value};
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    use std::sync::{Arc, Mutex};

    /// What all clients of a server share: the numbers that it holds.
    type Held = Arc<Mutex<Vec<u64>>>;

    /// Gives out the numbers; adds those that are bound; refuses every other statement.
    struct Numbers {
        columns: Vec<ColumnOut>,
        held: Held,
    }

    impl Numbers {
        fn new(held: &Held) -> Self {
            Self {
                columns: vec![ColumnOut {
                    name: "n".to_owned(),
                    kind: kind::LONGLONG,
                    length: 20,
                }],
                held: Arc::clone(held),
            }
        }

        fn give(&self, reply: &mut ReplyWriter<'_>) {
            reply.columns(&self.columns);
            for number in &*self.held.lock().unwrap() {
                reply.row(&self.columns, &[Cell::Int(*number)]);
            }
            reply.end_of_rows();
        }
    }

    impl Answering for Numbers {
        type Client = ();
        type Statement = ();

        const VERSION: &str = "10.11.0-MariaDB-numbers";

        fn welcome(&mut self, _number: u32) {}

        fn choose(&mut self, _client: &mut (), database: &[u8]) -> Result<(), Refusal> {
            match database {
                b"numbers" => Ok(()),
                _ => Err(Refusal::new(1049, b"42000", "Unknown database")),
            }
        }

        fn query(&mut self, _client: &mut (), sql: &[u8], reply: &mut ReplyWriter<'_>) {
            match sql {
                b"SELECT n FROM numbers" => self.give(reply),
                _ => reply.error(&Refusal::new(1146, b"42S02", "Table does not exist")),
            }
        }

        fn prepare(&mut self, _client: &mut (), _sql: &[u8]) -> Result<(), Refusal> {
            Ok(())
        }

        fn shape<'s>(&'s self, _statement: &'s ()) -> (u16, &'s [ColumnOut]) {
            (2, &[])
        }

        fn execute(
            &mut self,
            _client: &mut (),
            _statement: &(),
            values: BoundValues<'_>,
            reply: &mut ReplyWriter<'_>,
        ) {
            let numbers = values.map(|value| value.unwrap().as_int().unwrap() as u64);
            self.held.lock().unwrap().extend(numbers);
            reply.ok(1);
        }
    }

    /// A session of a client that has logged in, and has seen the greeting.
    fn met(numbers: &mut Numbers) -> ServedSession<Numbers> {
        let mut session = ServedSession::greet(7, numbers, &mut Vec::new());
        let mut login = vec![4, 0, 0, 1];
        login.extend_from_slice(&(Capabilities::PROTOCOL_41.0 as u32).to_le_bytes());
        let heard = session.hear(&login, numbers, &mut Vec::new());
        assert_eq!(heard, Received::Settled { consumed: 8 });
        session
    }

    fn request(sql: &[u8]) -> Vec<u8> {
        let mut request = Vec::new();
        command::query(&mut request, sql);
        request
    }

    /// The rows of an answer, and the code of its error.
    fn read(answer: &[u8]) -> (u64, Option<u16>) {
        let mut reader = AnswerReader::new(Capabilities::PROTOCOL_41);
        reader.expect(Due::Results);
        assert_eq!(reader.feed(answer).unwrap().state, AnswerState::Done);
        let code = reader.error().map(|error| error.code);
        (reader.summary().rows, code)
    }

    #[test]
    fn a_session_speaks_for_any_answers() {
        let mut numbers = Numbers::new(&Held::new(vec![4, 5, 6].into()));
        let mut session = met(&mut numbers);
        let mut ask = |sql: &[u8]| {
            let mut out = Vec::new();
            session.hear(&request(sql), &mut numbers, &mut out);
            read(&out)
        };
        assert_eq!(ask(b"SELECT n FROM numbers"), (3, None));
        assert_eq!(ask(b"SELECT n FROM elsewhere"), (0, Some(1146)));
    }

    #[test]
    fn a_server_decides_on_the_database_that_a_client_chooses() {
        let mut numbers = Numbers::new(&Held::default());
        for (name, refused) in [("numbers", None), ("letters", Some(1049))] {
            let (mut greeting, mut login) = (Vec::new(), Vec::new());
            let mut session = ServedSession::greet(9, &mut numbers, &mut greeting);
            let options = Options {
                database: Some(name.to_owned()),
                ..Options::default()
            };
            let mut client = Login::new(Credentials::default(), options);
            client.receive(&greeting, &mut login).unwrap();
            let mut out = Vec::new();
            session.hear(&login, &mut numbers, &mut out);
            let said = client.receive(&out, &mut Vec::new());
            assert_eq!(said.is_err(), refused.is_some(), "{name}");
        }
        let mut session = met(&mut numbers);
        let mut out = Vec::new();
        let choose = [&[8, 0, 0, 0, 2][..], b"letters"].concat();
        session.hear(&choose, &mut numbers, &mut out);
        assert_eq!(read(&out), (0, Some(1049)));
    }

    /// Like a server that has a thread for each client: it waits in every call.
    fn serve_one(mut socket: UnixStream, number: u32, mut answers: Numbers) {
        let mut out = Vec::new();
        let mut session = ServedSession::greet(number, &mut answers, &mut out);
        let (mut tail, mut part) = (Vec::new(), [0; 64]);
        loop {
            socket.write_all(&out).unwrap();
            out.clear();
            let consumed = match session.hear(&tail, &mut answers, &mut out) {
                Received::More => {
                    let length = socket.read(&mut part).unwrap();
                    if length == 0 {
                        return;
                    }
                    tail.extend_from_slice(&part[..length]);
                    0
                }
                Received::Answered { consumed } | Received::Settled { consumed } => consumed,
                Received::Left => return,
            };
            tail.drain(..consumed);
        }
    }

    #[test]
    fn clients_with_a_thread_each_share_what_their_server_holds() {
        let held = Held::default();
        let clients: Vec<_> = (0..8)
            .map(|number| {
                let (ours, theirs) = UnixStream::pair().unwrap();
                let answers = Numbers::new(&held);
                let server = std::thread::spawn(move || serve_one(theirs, number, answers));
                (std::thread::spawn(move || add_numbers(ours)), server)
            })
            .collect();
        for (client, server) in clients {
            client.join().unwrap();
            server.join().unwrap();
        }
        let mut all = held.lock().unwrap().clone();
        all.sort_unstable();
        // Each of the clients has added these.
        let each: Vec<u64> = (0..20).flat_map(|number| [number; 16]).collect();
        assert_eq!(all, each);
    }

    /// A client that prepares one statement, and executes it with two parameters at a time.
    fn add_numbers(mut socket: UnixStream) {
        let mut login = Login::new(Credentials::default(), Options::default());
        let (mut said, mut out) = (Vec::new(), Vec::new());
        let hear = |socket: &mut UnixStream, said: &mut Vec<u8>| {
            let mut part = [0; 256];
            let length = socket.read(&mut part).unwrap();
            said.extend_from_slice(&part[..length]);
        };
        let agreed = loop {
            hear(&mut socket, &mut said);
            let opened = login.receive(&std::mem::take(&mut said), &mut out);
            if let Some(opened) = opened.unwrap() {
                break opened.agreed;
            }
            socket.write_all(&out).unwrap();
            out.clear();
        };
        let mut reader = AnswerReader::new(agreed.capabilities);
        let mut ask = |request: &[u8], due: Due| {
            socket.write_all(request).unwrap();
            reader.expect(due);
            loop {
                hear(&mut socket, &mut said);
                let fed = reader.feed(&said).unwrap();
                said.drain(..fed.consumed);
                if fed.state == AnswerState::Done {
                    break;
                }
            }
            assert!(reader.error().is_none());
            (reader.prepared(), reader.summary().rows)
        };
        out.clear();
        command::prepare(&mut out, b"INSERT INTO numbers VALUES (?), (?)");
        let mut statement = PreparedStatement::new(ask(&out, Due::Prepare).0.unwrap());
        for number in 0..20 {
            out.clear();
            // The second value is sometimes of a different type than before.
            let second = match number % 7 {
                0 => Value::Bytes(number.to_string().leak().as_bytes()),
                _ => Value::UInt(number),
            };
            let values = [Value::Int(number as i64), second];
            statement.execute(&mut out, &values).unwrap();
            ask(&out, Due::Results);
        }
        let rows = ask(&request(b"SELECT n FROM numbers"), Due::Results).1;
        assert!(rows >= 40);
    }
}
