//! A blocking client over the sans-IO room, with every value at hand.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use contend_plan::{Tls, TlsMode};
use contend_wire::mysql::{
    Agreed, AnswerPacket, AnswerReader, AnswerState, Channel, Column, Consent, FrameReader, Login,
    Options, PreparedStatement, ReplyForm, ServerKey, TextRow, TlsConfig, command, sequence_after,
};
use contend_wire::{Credentials, ServerError, Summary, WireError};

/// Where the server under test is.
#[derive(Clone, Debug, serde::Deserialize)]
pub struct Server {
    pub socket: PathBuf,
    pub port: u16,
    pub ca: PathBuf,
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// The server under test, or none with a printed reason.
pub fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    let server = SERVER.get_or_init(|| {
        let text = std::env::var("CONTEND_TEST_SERVER").ok()?;
        Some(serde_json::from_str(&text).expect("CONTEND_TEST_SERVER"))
    });
    if server.is_none() {
        println!("skipped: CONTEND_TEST_SERVER names no server");
    }
    server.as_ref()
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

pub struct Client {
    stream: Box<dyn Stream>,
    pub agreed: Agreed,
    pub channel: Channel,
    pub answer: AnswerReader,
    /// Sizes of reads; small ones tear packets.
    pub piece: usize,
}

/// One result set of the text protocol.
#[derive(Debug, Default, PartialEq)]
pub struct Table {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Option<String>>>,
}

impl Client {
    pub fn socket(
        server: &Server,
        user: &str,
        password: &str,
        options: Options,
    ) -> Result<Self, WireError> {
        let stream = UnixStream::connect(&server.socket).unwrap();
        Self::login(
            Box::new(stream),
            user,
            password,
            Options {
                unix_socket: true,
                ..options
            },
        )
    }

    pub fn tcp(
        server: &Server,
        user: &str,
        password: &str,
        options: Options,
    ) -> Result<Self, WireError> {
        let stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self::login(Box::new(stream), user, password, options)
    }

    /// Root on the socket.
    pub fn root(server: &Server) -> Self {
        Self::socket(server, "root", "", Options::default()).unwrap()
    }

    fn login(
        mut stream: Box<dyn Stream>,
        user: &str,
        password: &str,
        options: Options,
    ) -> Result<Self, WireError> {
        let credentials = Credentials {
            user: user.into(),
            password: password.into(),
        };
        let mut login = Login::new(credentials, options);
        let (mut buffer, mut out) = (vec![0; 4096], Vec::new());
        loop {
            let filled = stream.read(&mut buffer).unwrap();
            assert!(filled > 0, "the server closed inside the login");
            if let Some(session) = login.receive(&buffer[..filled], &mut out)? {
                let answer = AnswerReader::new(session.agreed.capabilities);
                let channel = session.channel;
                return Ok(Self {
                    stream,
                    agreed: session.agreed,
                    channel,
                    answer,
                    piece: 65536,
                });
            }
            stream.write_all(&out).unwrap();
            out.clear();
        }
    }

    fn send(&mut self, packets: &[u8]) {
        let mut socket = Vec::new();
        self.channel.seal(packets, &mut socket).unwrap();
        self.stream.write_all(&socket).unwrap();
    }

    /// Sends a command and feeds its answer, in place and unread. `file` answers LOCAL INFILE.
    pub fn run(
        &mut self,
        reply: ReplyForm,
        packets: &[u8],
        file: &[&[u8]],
    ) -> Result<Summary, ServerError> {
        self.answer.expect(reply);
        self.answer.expect_sequence(sequence_after(packets));
        self.send(packets);
        let mut buffer = vec![0; self.piece];
        let mut held = Vec::new();
        loop {
            let filled = self.stream.read(&mut buffer).unwrap();
            assert!(filled > 0, "the server closed inside an answer");
            let mut bytes = &buffer[..filled];
            let mut more = true;
            while more {
                more = self.channel.open(bytes, &mut held).unwrap();
                bytes = &[];
                let fed = self.answer.feed(&held).unwrap();
                held.drain(..fed.consumed);
                match fed.state {
                    AnswerState::More => {}
                    AnswerState::LocalInfile => self.send_file(file),
                    AnswerState::Done => {
                        assert!(held.is_empty() && !more, "bytes after the answer");
                        return match self.answer.error() {
                            Some(error) => Err(error.clone()),
                            None => Ok(*self.answer.summary()),
                        };
                    }
                }
            }
        }
    }

    fn send_file(&mut self, file: &[&[u8]]) {
        let mut packets = Vec::new();
        let mut next = self.answer.next_sequence();
        for part in file {
            next = command::infile_part(&mut packets, next, part);
        }
        next = command::infile_end(&mut packets, next);
        self.answer.infile_sent(next);
        let mut socket = Vec::new();
        self.channel.seal_more(&packets, &mut socket).unwrap();
        self.stream.write_all(&socket).unwrap();
    }

    pub fn query(&mut self, sql: &str) -> Result<Summary, ServerError> {
        let mut out = Vec::new();
        command::query(&mut out, sql.as_bytes());
        self.run(ReplyForm::Results, &out, &[])
    }

    pub fn prepare(&mut self, sql: &str) -> PreparedStatement {
        let mut out = Vec::new();
        command::prepare(&mut out, sql.as_bytes());
        self.run(ReplyForm::Prepare, &out, &[]).unwrap();
        PreparedStatement::new(self.answer.prepared().unwrap())
    }

    /// Sends a command and reads its answer packet by packet.
    pub fn events(
        &mut self,
        packets: &[u8],
        mut see: impl FnMut(AnswerPacket<'_>),
    ) -> Result<Summary, ServerError> {
        self.answer.expect(ReplyForm::Results);
        self.answer.expect_sequence(sequence_after(packets));
        self.send(packets);
        let mut frames = FrameReader::of_session(self.agreed.capabilities, 64 << 20);
        frames.expect_sequence(sequence_after(packets));
        let mut buffer = vec![0; self.piece];
        while self.answer.is_waiting() {
            let filled = self.stream.read(&mut buffer).unwrap();
            assert!(filled > 0, "the server closed inside an answer");
            let mut bytes = &buffer[..filled];
            let mut more = true;
            while more {
                let mut heard = Vec::new();
                more = self.channel.open(bytes, &mut heard).unwrap();
                bytes = &[];
                frames.feed(&heard);
                while let Some(packet) = frames.next_packet().unwrap() {
                    see(self.answer.packet(packet).unwrap());
                }
            }
        }
        match self.answer.error() {
            Some(error) => Err(error.clone()),
            None => Ok(*self.answer.summary()),
        }
    }

    /// All result sets of a text query.
    pub fn tables(&mut self, sql: &str) -> Vec<Table> {
        let mut out = Vec::new();
        command::query(&mut out, sql.as_bytes());
        let mut tables: Vec<Table> = Vec::new();
        self.events(&out, |event| match event {
            AnswerPacket::ResultSet { .. } => tables.push(Table::default()),
            AnswerPacket::Column(payload) => {
                tables
                    .last_mut()
                    .unwrap()
                    .columns
                    .push(Column::parse(payload).unwrap());
            }
            AnswerPacket::Row(payload) => {
                let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
                let row = TextRow::new(payload)
                    .map(|value| value.unwrap().map(text))
                    .collect();
                tables.last_mut().unwrap().rows.push(row);
            }
            _ => {}
        })
        .unwrap();
        tables
    }

    /// The first value of the first row.
    pub fn value(&mut self, sql: &str) -> String {
        self.tables(sql)[0].rows[0][0].clone().unwrap()
    }
}

pub fn tls(server: &Server, mode: TlsMode) -> Options {
    tls_of(
        Tls {
            mode,
            ca: Some(server.ca.clone()),
            ..Tls::default()
        },
        "127.0.0.1",
    )
}

pub fn tls_of(tls: Tls, host: &str) -> Options {
    let tls: Option<Arc<TlsConfig>> = contend_client::tls::tls_of(&tls, host).unwrap();
    Options { tls, ..ours() }
}

/// The server is ours: whatever key it sends is believed.
pub fn ours() -> Options {
    Options {
        consent: Consent {
            server_key: ServerKey::AsSent,
            ..Consent::default()
        },
        ..Options::default()
    }
}
