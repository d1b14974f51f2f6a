//! The session of one client: a greeting, a login that accepts everyone, commands.

use super::number::{self, Demand};
use super::reply::ReplyWriter;
use super::{Answering, Refusal};
use contend_wire::Capabilities;
use contend_wire::mysql::cursor::Cursor;
use contend_wire::mysql::frame::{HEADER_BYTES, PAYLOAD_MAX, put_packet};
use contend_wire::mysql::value::kind;
use contend_wire::mysql::{BoundValues, status};

/// MariaDB puts this before its version, so that old replicas take it for version 5.5.
const REPLICATION_PREFIX: &[u8] = b"5.5.5-";
const PLUGIN: &[u8] = b"mysql_native_password\0";
/// Sent because the protocol has it. No password is checked against it: every login is accepted.
const NONCE: &[u8; 20] = b"contend-null-nonce--";
/// Statements that one client may prepare. Closed ones count until the connection is reset.
const STATEMENTS_MAX: usize = 65_536;
/// A client that sends more than this without completing a packet is to be disconnected.
pub const TAIL_BYTES_MAX: usize = 17 << 20;
const UNKNOWN_STATEMENT: &str = "Unknown prepared statement handler";
const LATIN1: u8 = 8;

/// The capabilities that the greeting offers.
fn capabilities() -> Capabilities {
    Capabilities::LONG_FLAG
        | Capabilities::CONNECT_WITH_DB
        | Capabilities::LOCAL_FILES
        | Capabilities::PROTOCOL_41
        | Capabilities::TRANSACTIONS
        | Capabilities::SECURE_CONNECTION
        | Capabilities::MULTI_STATEMENTS
        | Capabilities::MULTI_RESULTS
        | Capabilities::PS_MULTI_RESULTS
        | Capabilities::PLUGIN_AUTH
        | Capabilities::CONNECT_ATTRS
        | Capabilities::PLUGIN_AUTH_LENENC
        | Capabilities::DEPRECATE_EOF
}

/// The result of [`ServedSession::hear`] for a client's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// The packet is incomplete: its bytes must be passed again, in front of those that follow.
    More,
    /// One command, of `consumed` bytes, was answered. The answer may be delayed.
    Answered { consumed: usize },
    /// Like `Answered`, for packets whose answer, if any, is never delayed: login, ping, prepare,
    /// close and the like.
    Settled { consumed: usize },
    /// The client is leaving, or does not speak the protocol.
    Left,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServedPhase {
    LoggingIn,
    Commands,
    /// The client is sending a local file; `lines` have come so far.
    File {
        lines: u64,
    },
}

/// The server's side of one client's session.
pub struct ServedSession<A: Answering> {
    phase: ServedPhase,
    capabilities: Capabilities,
    client: A::Client,
    statements: Vec<Option<Remembered<A::Statement>>>,
}

/// A prepared statement, with the types of its parameters as the client last sent them.
struct Remembered<S> {
    statement: S,
    types: Box<[[u8; 2]]>,
}

impl<S> Remembered<S> {
    /// The values of an execution, whose command holds `body`: an id, flags, an iteration count,
    /// and they.
    fn bound<'s>(&'s mut self, body: &'s [u8]) -> Option<(&'s S, BoundValues<'s>)> {
        let values = body.get(9..)?;
        let values = BoundValues::read(&mut self.types, values).ok()?;
        Some((&self.statement, values))
    }
}

impl<A: Answering> ServedSession<A> {
    /// Begins the session of a new client: appends the greeting to `out`.
    pub fn greet(connection_id: u32, answers: &mut A, out: &mut Vec<u8>) -> Self {
        let offered = capabilities().0;
        let [first, second] = [&NONCE[..8], &NONCE[8..]];
        put_packet(out, 0, |out| {
            out.push(10);
            out.extend_from_slice(REPLICATION_PREFIX);
            out.extend_from_slice(A::VERSION.as_bytes());
            out.push(0);
            out.extend_from_slice(&connection_id.to_le_bytes());
            out.extend_from_slice(first);
            out.push(0);
            out.extend_from_slice(&(offered as u16).to_le_bytes());
            out.push(LATIN1);
            out.extend_from_slice(&status::AUTOCOMMIT.to_le_bytes());
            out.extend_from_slice(&((offered >> 16) as u16).to_le_bytes());
            out.push(NONCE.len() as u8 + 1);
            out.extend_from_slice(&[0; 6]);
            out.extend_from_slice(&((offered >> 32) as u32).to_le_bytes());
            out.extend_from_slice(second);
            out.push(0);
            out.extend_from_slice(PLUGIN);
        });
        Self {
            phase: ServedPhase::LoggingIn,
            capabilities: Capabilities::NONE,
            client: answers.welcome(connection_id),
            statements: Vec::new(),
        }
    }

    /// Reads at most one packet from the beginning of `bytes` and appends its answer to `out`.
    #[inline]
    pub fn hear(&mut self, bytes: &[u8], answers: &mut A, out: &mut Vec<u8>) -> Received {
        let Some((head, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Received::More;
        };
        let [a, b, c, sequence] = *head;
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        let Some(packet) = rest.get(..length) else {
            return Received::More;
        };
        let consumed = HEADER_BYTES + length;
        match self.phase {
            ServedPhase::File { lines } => self.file(packet, lines, sequence, consumed, out),
            // Statements of benchmarks fit into one packet. A client that sends more is dropped.
            _ if length == PAYLOAD_MAX => Received::Left,
            ServedPhase::LoggingIn => self.log_in(packet, sequence, answers, consumed, out),
            ServedPhase::Commands => self.command(packet, answers, consumed, out),
        }
    }

    /// Whether `request`, which [`Self::hear`] has just answered, is an event, and its number: a
    /// station needs both.
    pub fn asked(&mut self, request: &[u8]) -> Demand {
        match request.get(HEADER_BYTES..).and_then(<[u8]>::split_first) {
            Some((0x03, sql)) => number::of_text(sql),
            Some((0x17, body)) => {
                let statement = self.statement(body).and_then(Option::as_mut);
                let bound = statement.and_then(|statement| statement.bound(body));
                Demand::Event(bound.and_then(|(_, values)| number::of_values(values)))
            }
            _ => Demand::Event(None),
        }
    }

    fn log_in(
        &mut self,
        packet: &[u8],
        sequence: u8,
        answers: &mut A,
        consumed: usize,
        out: &mut Vec<u8>,
    ) -> Received {
        let Some((low, _)) = packet.split_first_chunk::<4>() else {
            return Received::Left;
        };
        let asked = Capabilities(u64::from(u32::from_le_bytes(*low)));
        if !asked.has(Capabilities::PROTOCOL_41) {
            return Received::Left;
        }
        self.capabilities = asked & capabilities();
        self.phase = ServedPhase::Commands;
        let mut reply = ReplyWriter::new(out, sequence.wrapping_add(1), self.capabilities, false);
        match database(packet, self.capabilities) {
            Some(database) => self.choose(database, answers, &mut reply),
            None => reply.ok(0),
        }
        Received::Settled { consumed }
    }

    fn choose(&mut self, database: &[u8], answers: &mut A, reply: &mut ReplyWriter<'_>) {
        match answers.choose(&mut self.client, database) {
            Ok(()) => reply.ok(0),
            Err(refusal) => reply.error(&refusal),
        }
    }

    fn file(
        &mut self,
        packet: &[u8],
        lines: u64,
        sequence: u8,
        consumed: usize,
        out: &mut Vec<u8>,
    ) -> Received {
        if packet.is_empty() {
            self.phase = ServedPhase::Commands;
            ReplyWriter::new(out, sequence.wrapping_add(1), self.capabilities, false).ok(lines);
            return Received::Answered { consumed };
        }
        let more = packet.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.phase = ServedPhase::File {
            lines: lines + more,
        };
        Received::Settled { consumed }
    }

    #[inline]
    fn command(
        &mut self,
        packet: &[u8],
        answers: &mut A,
        consumed: usize,
        out: &mut Vec<u8>,
    ) -> Received {
        let Some((command, body)) = packet.split_first() else {
            return Received::Left;
        };
        let binary = *command == 0x17;
        let mut reply = ReplyWriter::new(out, 1, self.capabilities, binary);
        match command {
            // COM_STMT_EXECUTE
            0x17 => {
                let place = place_of(body).and_then(|place| self.statements.get_mut(place));
                match place.and_then(Option::as_mut).map(|one| one.bound(body)) {
                    Some(Some((statement, values))) => {
                        answers.execute(&mut self.client, statement, values, &mut reply)
                    }
                    Some(None) => reply.error(&Refusal::new(
                        1210,
                        b"HY000",
                        "Incorrect arguments to EXECUTE",
                    )),
                    None => reply.error(&Refusal::new(1243, b"HY000", UNKNOWN_STATEMENT)),
                }
                Received::Answered { consumed }
            }
            // COM_QUERY
            0x03 => {
                answers.query(&mut self.client, body, &mut reply);
                if reply.wants_file() {
                    self.phase = ServedPhase::File { lines: 0 };
                    return Received::Settled { consumed };
                }
                Received::Answered { consumed }
            }
            // COM_STMT_PREPARE
            0x16 => {
                match answers.prepare(&mut self.client, body) {
                    Ok(statement) if self.statements.len() < STATEMENTS_MAX => {
                        let (parameters, columns) = answers.shape(&statement);
                        // Ids count from 1.
                        let id = self.statements.len() as u32 + 1;
                        reply.prepared(id, parameters, columns);
                        self.statements.push(Some(Remembered {
                            statement,
                            types: vec![[kind::NULL, 0]; usize::from(parameters)].into(),
                        }));
                    }
                    Ok(_) => reply.error(&Refusal::new(
                        1461,
                        b"42000",
                        format!("At most {STATEMENTS_MAX} prepared statements per session"),
                    )),
                    Err(refusal) => reply.error(&refusal),
                }
                Received::Settled { consumed }
            }
            // COM_INIT_DB
            0x02 => {
                self.choose(body, answers, &mut reply);
                Received::Settled { consumed }
            }
            // COM_STMT_CLOSE and COM_STMT_SEND_LONG_DATA have no answer.
            0x19 => {
                if let Some(slot) = self.statement(body) {
                    *slot = None;
                }
                Received::Settled { consumed }
            }
            0x18 => Received::Settled { consumed },
            // COM_QUIT
            0x01 => Received::Left,
            // COM_PING, COM_STMT_RESET, COM_SET_OPTION
            0x0e | 0x1a | 0x1b => {
                reply.ok(0);
                Received::Settled { consumed }
            }
            // COM_RESET_CONNECTION
            0x1f => {
                self.statements.clear();
                reply.ok(0);
                Received::Settled { consumed }
            }
            _ => {
                reply.error(&Refusal::new(1047, b"08S01", "Unknown command"));
                Received::Settled { consumed }
            }
        }
    }

    fn statement(&mut self, body: &[u8]) -> Option<&mut Option<Remembered<A::Statement>>> {
        self.statements.get_mut(place_of(body)?)
    }
}

/// Turns away a client that has just connected: the server cannot greet it.
pub fn turn_away(refusal: &Refusal, out: &mut Vec<u8>) {
    ReplyWriter::new(out, 0, Capabilities::NONE, false).error(refusal);
}

/// The place of the statement whose id a command begins with.
fn place_of(body: &[u8]) -> Option<usize> {
    let id = u32::from_le_bytes(*body.first_chunk::<4>()?);
    usize::try_from(id).ok()?.checked_sub(1)
}

/// The database that a client names when it logs in, if it names one.
fn database(packet: &[u8], capabilities: Capabilities) -> Option<&[u8]> {
    if !capabilities.has(Capabilities::CONNECT_WITH_DB) {
        return None;
    }
    // Capabilities, the longest packet, a character set and a gap come before the user.
    let mut cursor = Cursor::new(packet.get(4 + 4 + 1 + 23..)?);
    cursor.until_nul("user").ok()?;
    if capabilities.has(Capabilities::PLUGIN_AUTH_LENENC) {
        cursor.lenenc_bytes("proof").ok()?;
    } else if capabilities.has(Capabilities::SECURE_CONNECTION) {
        let length = cursor.u8("length of the proof").ok()?;
        cursor.bytes(length.into(), "proof").ok()?;
    } else {
        cursor.until_nul("proof").ok()?;
    }
    let database = cursor.until_nul("database").ok()?;
    (!database.is_empty()).then_some(database)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use crate::serve::Canned;
    use contend_wire::mysql::{
        AnswerReader, AnswerState, Login, Options, PreparedStatement, ReplyForm as Due, command,
    };
    use contend_wire::{Credentials, Value};
    use proptest::prelude::*;

    /// A session and our own client, both logged in, with the client's capabilities.
    fn met(deprecate_eof: bool) -> (ServedSession<Canned>, Capabilities) {
        let (mut to_client, mut to_server) = (Vec::new(), Vec::new());
        let mut session = ServedSession::greet(7, &mut Canned::default(), &mut to_client);
        let options = Options {
            deprecate_eof,
            local_infile: true,
            ..Options::default()
        };
        let mut login = Login::new(Credentials::default(), options);
        for _ in 0..5 {
            let opened = login.receive(&to_client, &mut to_server).unwrap();
            if let Some(opened) = opened {
                assert_eq!(opened.agreed.connection_id, 7);
                return (session, opened.agreed.capabilities);
            }
            to_client.clear();
            session.hear(&to_server, &mut Canned::default(), &mut to_client);
            to_server.clear();
        }
        panic!("no login");
    }

    #[test]
    fn our_client_prepares_executes_and_queries() {
        for deprecate_eof in [false, true] {
            let (mut session, capabilities) = met(deprecate_eof);
            let mut canned = Canned::default();
            let mut reader = AnswerReader::new(capabilities);
            let mut ask = |due: Due, request: &[u8]| {
                let mut out = Vec::new();
                let heard = session.hear(request, &mut canned, &mut out);
                assert!(!matches!(heard, Received::More | Received::Left));
                reader.expect(due);
                assert_eq!(reader.feed(&out).unwrap().state, AnswerState::Done);
                (
                    reader.prepared(),
                    *reader.summary(),
                    reader.error().cloned(),
                )
            };
            let mut request = Vec::new();
            command::prepare(&mut request, b"SELECT c FROM sbtest WHERE id IN (?, ?)");
            let prepared = ask(Due::Prepare, &request).0.unwrap();
            assert_eq!((prepared.parameters, prepared.columns), (2, 1));
            let mut statement = PreparedStatement::new(prepared);
            for _ in 0..2 {
                request.clear();
                let values = [Value::Int32(1), Value::Int32(2)];
                statement.execute(&mut request, &values).unwrap();
                assert_eq!(ask(Due::Results, &request).1.rows, 2);
            }
            request.clear();
            command::query(&mut request, b"SELECT id, c FROM sbtest WHERE id = 5");
            assert_eq!(ask(Due::Results, &request).1.rows, 1);
            // COM_PING and COM_RESET_CONNECTION.
            for command in [0x0e, 0x1f] {
                assert!(ask(Due::Results, &[1, 0, 0, 0, command]).2.is_none());
            }
            request.clear();
            statement
                .execute(&mut request, &[Value::Int32(1), Value::Int32(2)])
                .unwrap();
            assert_eq!(ask(Due::Results, &request).2.unwrap().code, 1243);
        }
    }

    #[test]
    fn a_local_file_s_lines_are_counted() {
        let (mut session, capabilities) = met(true);
        let mut canned = Canned::default();
        let mut reader = AnswerReader::new(capabilities);
        let (mut request, mut out) = (Vec::new(), Vec::new());
        command::query(&mut request, b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t");
        session.hear(&request, &mut canned, &mut out);
        reader.expect(Due::Results);
        assert_eq!(reader.feed(&out).unwrap().state, AnswerState::LocalInfile);
        out.clear();
        request.clear();
        let next = command::infile_part(&mut request, reader.next_sequence(), b"1\n2\n3\n");
        let next = command::infile_end(&mut request, next);
        let Received::Settled { consumed } = session.hear(&request, &mut canned, &mut out) else {
            panic!("the part has no answer");
        };
        session.hear(&request[consumed..], &mut canned, &mut out);
        reader.infile_sent(next);
        assert_eq!(reader.feed(&out).unwrap().state, AnswerState::Done);
        assert_eq!(reader.summary().affected_rows, 3);
    }

    #[test]
    fn half_a_packet_waits_and_a_goodbye_ends() {
        let (mut session, _) = met(true);
        let mut canned = Canned::default();
        let mut request = Vec::new();
        command::query(&mut request, b"SELECT 1");
        for length in 0..request.len() {
            let heard = session.hear(&request[..length], &mut canned, &mut Vec::new());
            assert_eq!(heard, Received::More);
        }
        request.clear();
        command::quit(&mut request);
        let heard = session.hear(&request, &mut canned, &mut Vec::new());
        assert_eq!(heard, Received::Left);
    }

    proptest! {
        #[test]
        fn rubbish_is_survived(packets: Vec<Vec<u8>>, logged_in: bool) {
            let mut canned = Canned::default();
            let mut out = Vec::new();
            let mut session = if logged_in { met(true).0 } else { ServedSession::greet(1, &mut canned, &mut out) };
            for packet in packets {
                let mut bytes = Vec::new();
                put_packet(&mut bytes, 0, |out| out.extend_from_slice(&packet));
                session.hear(&bytes, &mut canned, &mut out);
                session.hear(&packet, &mut canned, &mut out);
            }
        }
    }
}
