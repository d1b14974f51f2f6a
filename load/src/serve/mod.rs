//! The server's side of the protocol, without a socket: a client's bytes in, answers out.
//!
//! [`ServedSession`] is the session of one client: greeting, login, commands, prepared statements.
//! The answers come from the trait [`Answering`]: a statement in, the bytes of its answer out. The
//! null server uses [`Canned`]; a server that reads tables would be another implementation.

mod canned;
mod number;
mod pace;
mod reply;
mod service;
mod session;
mod station;
mod text;

pub use canned::Canned;
pub use number::Asked;
pub use pace::{ServicePace, Stalls};
pub use reply::{Cell, ColumnOut, ReplyWriter};
pub use service::ServiceTime;
pub use session::{Received, ServedSession};
pub use station::{Granted, Station};

/// How a server answers statements. Each worker has its own instance, so nothing in it is shared.
pub trait Answering {
    /// What is remembered of a prepared statement.
    type Statement;

    /// Answers a statement that came as text.
    fn query(&mut self, sql: &[u8], reply: &mut ReplyWriter<'_>);

    /// Prepares a statement, so that it can be executed many times.
    ///
    /// # Errors
    /// The reason why the statement cannot be prepared.
    fn prepare(&mut self, sql: &[u8]) -> Result<Self::Statement, Refusal>;

    /// The number of parameters of a prepared statement, and the columns of its result.
    fn shape(&self, statement: &Self::Statement) -> (u16, &[ColumnOut]);

    /// Answers an execution; `values` are the parameters as the client sent them.
    fn execute(&mut self, statement: &Self::Statement, values: &[u8], reply: &mut ReplyWriter<'_>);
}

/// An error for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: u16,
    pub sqlstate: [u8; 5],
    pub message: String,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use crate::wire::mysql::value::kind;
    use crate::wire::mysql::{AnswerReader, AnswerState, Capabilities, ReplyForm as Due, command};

    /// Answers one statement with the rows that it holds, and refuses every other statement.
    struct Numbers {
        columns: Vec<ColumnOut>,
        held: Vec<u64>,
    }

    impl Answering for Numbers {
        type Statement = usize;

        fn query(&mut self, sql: &[u8], reply: &mut ReplyWriter<'_>) {
            match self.prepare(sql) {
                Ok(rows) => self.execute(&rows, &[], reply),
                Err(refusal) => reply.error(&refusal),
            }
        }

        fn prepare(&mut self, sql: &[u8]) -> Result<usize, Refusal> {
            match sql {
                b"SELECT n FROM numbers" => Ok(self.held.len()),
                _ => Err(Refusal {
                    code: 1146,
                    sqlstate: *b"42S02",
                    message: "Table does not exist".to_owned(),
                }),
            }
        }

        fn shape(&self, _: &usize) -> (u16, &[ColumnOut]) {
            (0, &self.columns)
        }

        fn execute(&mut self, rows: &usize, _: &[u8], reply: &mut ReplyWriter<'_>) {
            reply.columns(&self.columns);
            for number in self.held.iter().take(*rows) {
                reply.row(&self.columns, &[Cell::Int(*number)]);
            }
            reply.end_of_rows();
        }
    }

    #[test]
    fn a_session_speaks_for_any_answers() {
        let mut numbers = Numbers {
            columns: vec![ColumnOut {
                name: "n".to_owned(),
                kind: kind::LONGLONG,
                length: 20,
            }],
            held: vec![4, 5, 6],
        };
        let mut session = ServedSession::<usize>::greet(1, &mut Vec::new());
        let capabilities = Capabilities::PROTOCOL_41;
        let mut login = vec![4, 0, 0, 1];
        login.extend_from_slice(&(capabilities.0 as u32).to_le_bytes());
        assert!(matches!(
            session.hear(&login, &mut numbers, &mut Vec::new()),
            Received::Settled { consumed: 8 }
        ));
        let mut ask = |sql: &[u8]| {
            let (mut request, mut out) = (Vec::new(), Vec::new());
            command::query(&mut request, sql);
            session.hear(&request, &mut numbers, &mut out);
            let mut reader = AnswerReader::new(capabilities);
            reader.expect(Due::Results);
            assert_eq!(reader.feed(&out).unwrap().state, AnswerState::Done);
            (
                reader.summary().rows,
                reader.error().map(|error| error.code),
            )
        };
        assert_eq!(ask(b"SELECT n FROM numbers"), (3, None));
        assert_eq!(ask(b"SELECT n FROM elsewhere"), (0, Some(1146)));
    }
}
