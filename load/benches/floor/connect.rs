//! Logs in and prepares the statement, blocking: this is not what is measured.

use super::Arguments;
use contend_wire::mysql::{AnswerReader, AnswerState, Login, Options, ReplyForm, command};
use contend_wire::{Credentials, Prepared};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// A connected socket, non-blocking from here on.
pub type Stream = OwnedFd;

trait Duplex: Read + Write {}
impl<T: Read + Write> Duplex for T {}

pub fn open(arguments: &Arguments) -> io::Result<(Stream, Prepared)> {
    if let Some(path) = &arguments.socket {
        let mut stream = UnixStream::connect(path)?;
        let prepared = prepare(&mut stream, arguments)?;
        stream.set_nonblocking(true)?;
        return Ok((stream.into(), prepared));
    }
    let mut stream = TcpStream::connect((arguments.host.as_str(), arguments.port))?;
    stream.set_nodelay(true)?;
    let prepared = prepare(&mut stream, arguments)?;
    stream.set_nonblocking(true)?;
    Ok((stream.into(), prepared))
}

fn prepare(stream: &mut dyn Duplex, arguments: &Arguments) -> io::Result<Prepared> {
    let credentials = Credentials {
        user: arguments.user.clone(),
        password: std::env::var("FLOOR_PASSWORD").unwrap_or_default(),
    };
    let options = Options {
        database: Some(arguments.database.clone()),
        unix_socket: arguments.socket.is_some(),
        ..Options::default()
    };
    let mut login = Login::new(credentials, options);
    let mut buffer = vec![0; 64 * 1024];
    let mut out = Vec::new();
    let session = loop {
        let filled = stream.read(&mut buffer)?;
        let heard = buffer.get(..filled).unwrap_or_default();
        if let Some(session) = login.receive(heard, &mut out).map_err(io::Error::other)? {
            break session;
        }
        stream.write_all(&out)?;
        out.clear();
    };
    let mut answer = AnswerReader::new(session.agreed.capabilities);
    answer.expect(ReplyForm::Prepare);
    command::prepare(&mut out, sql(arguments).as_bytes());
    stream.write_all(&out)?;
    let mut filled = 0;
    loop {
        filled += stream.read(buffer.get_mut(filled..).unwrap_or_default())?;
        let heard = buffer.get(..filled).unwrap_or_default();
        let fed = answer.feed(heard).map_err(io::Error::other)?;
        if fed.state == AnswerState::Done {
            break;
        }
        buffer.copy_within(fed.consumed..filled, 0);
        filled -= fed.consumed;
    }
    answer
        .prepared()
        .ok_or_else(|| io::Error::other(format!("{:?}", answer.error())))
}

pub fn sql(arguments: &Arguments) -> String {
    let table = &arguments.table;
    match arguments.points {
        0 => format!("SELECT c FROM {table} WHERE id = ?"),
        points => {
            let marks = vec!["?"; points as usize].join(", ");
            format!("SELECT id, k, c, pad FROM {table} WHERE k IN ({marks})")
        }
    }
}
