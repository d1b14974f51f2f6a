//! Logs in over a Unix socket and asks one question: the protocol alone, on a socket of the
//! standard library.
//!
//! ```text
//! cargo run -p contend-wire --example ask -- /run/mysqld/mysqld.sock root 'SELECT VERSION()'
//! ```

use contend_wire::Credentials;
use contend_wire::mysql::{AnswerReader, AnswerState, Login, Options, ReplyForm, command};
use std::error::Error;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |usual: &str| arguments.next().unwrap_or_else(|| usual.to_owned());
    let mut socket = UnixStream::connect(argument("/run/mysqld/mysqld.sock"))?;
    let credentials = Credentials {
        user: argument("root"),
        password: std::env::var("MYSQL_PWD").unwrap_or_default(),
    };
    let statement = argument("SELECT VERSION()");

    let options = Options {
        unix_socket: true,
        ..Options::default()
    };
    let mut login = Login::new(credentials, options);
    let (mut received, mut to_send) = (vec![0; 64 * 1024], Vec::new());
    let session = loop {
        let filled = read(&mut socket, &mut received)?;
        let session = login.receive(received.get(..filled).unwrap_or_default(), &mut to_send)?;
        socket.write_all(&to_send)?;
        to_send.clear();
        if let Some(session) = session {
            break session;
        }
    };
    println!("server: {}", session.agreed.server_version);

    let mut answer = AnswerReader::new(session.agreed.capabilities);
    answer.expect(ReplyForm::Results);
    command::query(&mut to_send, statement.as_bytes());
    socket.write_all(&to_send)?;
    let mut kept = 0;
    loop {
        let free = received.get_mut(kept..).unwrap_or_default();
        let filled = kept + read(&mut socket, free)?;
        let fed = answer.feed(received.get(..filled).unwrap_or_default())?;
        if fed.state == AnswerState::Done {
            break;
        }
        // The end of the bytes may be the beginning of a packet: it is read again with the rest.
        received.copy_within(fed.consumed..filled, 0);
        kept = filled - fed.consumed;
    }
    match answer.error() {
        Some(error) => println!("error: {error}"),
        None => println!("rows: {}", answer.summary().rows),
    }
    Ok(())
}

fn read(socket: &mut UnixStream, into: &mut [u8]) -> Result<usize, Box<dyn Error>> {
    match socket.read(into)? {
        0 => Err("the server closed the connection".into()),
        filled => Ok(filled),
    }
}
