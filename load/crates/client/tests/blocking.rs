//! The blocking connection against conversations played by hand.

#![allow(clippy::unwrap_used)]
use contend_client::blocking::{BlockingLink, ControlConnection, endless};
use contend_client::request::Reply;
use contend_client::{Target, failure};
use contend_figures::outcome::Failure;
use contend_reactor::socket::Address;
use contend_servers::null_server::testing::NullServer;
use contend_servers::serve::ServiceTime;
use contend_wire::Credentials;
use contend_wire::mysql::{Options, command};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

/// A server that sends these bytes to every client, and hangs up.
struct Canned {
    path: PathBuf,
    _thread: std::thread::JoinHandle<()>,
}

impl Canned {
    fn new(name: &str, words: &'static [u8]) -> Self {
        let path = std::env::temp_dir().join(format!("contend-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        let thread = std::thread::spawn(move || {
            if let Ok((mut client, _)) = listener.accept() {
                let _ = client.write_all(words);
            }
        });
        Self {
            path,
            _thread: thread,
        }
    }

    fn target(&self) -> Target {
        Target {
            address: Address::Unix(self.path.clone()),
            credentials: Credentials::default(),
            options: Options::default(),
            connect_timeout: Duration::from_secs(60),
        }
    }
}

impl Drop for Canned {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[test]
fn statements_have_summaries_and_rows() {
    let server = NullServer::quick();
    let mut connection = ControlConnection::open(&server.target()).unwrap();
    assert!(connection.agreed().server_version.contains("contend-null"));
    let summary = connection.run("UPDATE t SET k = 1", &mut endless).unwrap();
    assert_eq!(summary.affected_rows, 1);
    for _ in 0..2 {
        let rows = connection
            .rows("SELECT id, pad FROM t WHERE id IN (1, 2)", &mut endless)
            .unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0][0].as_deref(), Some("1000000"));
        assert_eq!(rows[1][1].as_ref().unwrap().len(), 59);
    }
}

#[test]
fn parts_of_a_local_file_arrive_whole() {
    let server = NullServer::quick();
    let mut connection = ControlConnection::open(&server.target()).unwrap();
    let mut parts = [b"1\n2\n".to_vec(), vec![b'\n'; 300_000]].into_iter();
    let summary = connection
        .load_local(
            "LOAD DATA LOCAL INFILE 'rows' INTO TABLE t",
            &mut |part| {
                part.extend(parts.next().unwrap_or_default());
                Ok(())
            },
            &mut endless,
        )
        .unwrap();
    assert_eq!(summary.affected_rows, 300_002);
    // The conversation goes on after it.
    assert!(connection.run("BEGIN", &mut endless).is_ok());
}

#[test]
fn a_statement_that_wants_no_file_is_answered_as_it_is() {
    let server = NullServer::quick();
    let mut connection = ControlConnection::open(&server.target()).unwrap();
    let mut never = |_: &mut Vec<u8>| Err(Failure::plain("asked for a part"));
    let summary = connection.load_local("DELETE FROM t", &mut never, &mut endless);
    assert_eq!(summary.unwrap().affected_rows, 1);
    let sql = "LOAD DATA LOCAL INFILE 'x' INTO TABLE t";
    for failure in [
        connection.run(sql, &mut endless).unwrap_err(),
        ControlConnection::open(&server.target())
            .and_then(|mut connection| connection.rows(sql, &mut endless))
            .unwrap_err(),
    ] {
        assert!(failure.message.contains("local file"));
    }
}

#[test]
fn who_has_no_patience_does_not_wait() {
    let hour = 3_600_000_000_000;
    let server = NullServer::start(ServiceTime::Fixed { ns: hour }, None);
    let mut connection = ControlConnection::open(&server.target()).unwrap();
    let mut waited = Vec::new();
    let failure = connection
        .run("SELECT 1", &mut |time| {
            waited.push(time);
            match waited.len() {
                1 => Ok(()),
                _ => Err(Failure::plain("enough")),
            }
        })
        .unwrap_err();
    assert_eq!(failure.message, "enough");
    assert!(waited[0] < waited[1]);
}

#[test]
fn nobody_there_and_somebody_else_are_told_apart() {
    let mut target = Canned::new("gone", b"").target();
    target.address = Address::Unix("/nonexistent/socket".into());
    let failure = ControlConnection::open(&target).err().unwrap();
    assert_eq!(failure.code, Some(failure::CANNOT_CONNECT));
    let silent = Canned::new("silent", b"");
    assert!(ControlConnection::open(&silent.target()).is_err());
    let other = Canned::new("other", b"SSH-2.0-OpenSSH_9.2\r\n");
    let failure = ControlConnection::open(&other.target()).err().unwrap();
    assert!(failure.message.contains("protocol"), "{}", failure.message);
    let full = Canned::new("full", b"\x17\0\0\0\xff\x10\x04Too many connections");
    let failure = ControlConnection::open(&full.target()).err().unwrap();
    assert_eq!(failure.code, Some(1040));
}

#[test]
fn a_server_that_goes_is_noticed_in_the_middle() {
    let server = NullServer::quick();
    let mut connection = ControlConnection::open(&server.target()).unwrap();
    drop(server);
    let failure = connection.run("SELECT 1", &mut endless).unwrap_err();
    assert_eq!(failure.code, Some(failure::LOST));
}

/// Lets one client through to a server; the thread returns all bytes that the client sent.
fn overheard(path: &Path, server: &Path) -> JoinHandle<Vec<u8>> {
    let _ = std::fs::remove_file(path);
    let listener = UnixListener::bind(path).unwrap();
    let server = UnixStream::connect(server).unwrap();
    std::thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let (mut answers, mut to_client) =
            (server.try_clone().unwrap(), client.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut answers, &mut to_client));
        let (mut from_client, mut to_server) = (client, server);
        let (mut said, mut buffer) = (Vec::new(), [0; 1024]);
        loop {
            match from_client.read(&mut buffer).unwrap() {
                0 => return said,
                filled => {
                    said.extend_from_slice(&buffer[..filled]);
                    to_server.write_all(&buffer[..filled]).unwrap();
                }
            }
        }
    })
}

#[test]
fn a_connection_that_is_dropped_says_goodbye() {
    let server = NullServer::quick();
    let mut target = server.target();
    let Address::Unix(behind) = &target.address else {
        unreachable!()
    };
    let name = format!("contend-overheard-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let said = overheard(&path, behind);
    target.address = Address::Unix(path.clone());
    let mut link = BlockingLink::open(&target).unwrap();
    let ask = |out: &mut Vec<u8>| command::query(out, b"SELECT 1");
    link.ask(Reply::Counts, ask, &mut endless).unwrap();
    assert!(!link.listen(&mut endless).unwrap());
    drop(link);
    assert!(said.join().unwrap().ends_with(b"\x01\0\0\0\x01"));
    std::fs::remove_file(path).unwrap();
}
