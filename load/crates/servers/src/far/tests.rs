//! A line before a null server, and before a service that is not a server.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::null_server::testing::NullServer;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::AtomicU32;
use std::sync::mpsc;
use std::thread::JoinHandle;

static NUMBER: AtomicU32 = AtomicU32::new(0);

fn place() -> PathBuf {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("contend-far-{}-{number}", std::process::id()))
}

struct Standing {
    socket: PathBuf,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<LineReport>,
}

impl Standing {
    fn before(target: Address, round_trip_ns: u64) -> Self {
        let line = DelayLine {
            target,
            socket: Some(place()),
            port: None,
            round_trip_ns,
            threads: 2,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, told) = mpsc::channel();
        let (socket, raised) = (line.socket.clone().unwrap(), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            stand(&line, &mut |_| tell.send(()).unwrap(), None, &raised).unwrap()
        });
        told.recv().unwrap();
        Self {
            socket,
            stop,
            thread,
        }
    }

    fn end(self) -> LineReport {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Sends back all it gets, and ends when its client does.
fn echo(socket: &Path) -> JoinHandle<()> {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        // The first only checks that there is a listener.
        drop(listener.accept().unwrap());
        let (mut client, _) = listener.accept().unwrap();
        let mut back = client.try_clone().unwrap();
        // Bytes that cannot be sent any more do not matter.
        let _ = std::io::copy(&mut client, &mut back);
    })
}

#[test]
fn bytes_come_back_as_they_were_and_not_before_the_round_trip() {
    const ROUND_TRIP: Duration = Duration::from_millis(20);
    let server = place();
    let echo = echo(&server);
    let target = Address::Unix(server.clone());
    let line = Standing::before(target, ROUND_TRIP.as_nanos() as u64);
    let mut client = UnixStream::connect(&line.socket).unwrap();
    // More than the line or a socket holds at a time.
    let sent: Vec<u8> = (0..9_000_000u32).map(|n| (n % 251) as u8).collect();
    let begun = Instant::now();
    let mut writer = client.try_clone().unwrap();
    let (bytes, count) = (sent.clone(), sent.len());
    let writing = std::thread::spawn(move || writer.write_all(&bytes).unwrap());
    let mut got = vec![0; 1];
    client.read_exact(&mut got).unwrap();
    assert!(begun.elapsed() >= ROUND_TRIP);
    got.resize(count, 0);
    client.read_exact(got.get_mut(1..).unwrap()).unwrap();
    assert!(got == sent);
    writing.join().unwrap();
    drop(client);
    // The end of the stream passes as well.
    echo.join().unwrap();
    let report = line.end();
    assert_eq!((report.connections, report.refused), (1, 0));
    assert_eq!(report.bytes_to_server, count as u64);
    assert_eq!(report.bytes_to_client, count as u64);
    assert!(report.late.count() > 0 && report.cpu_ns > 0);
    std::fs::remove_file(server).unwrap();
}

#[test]
fn a_server_that_has_gone_is_named_to_the_client() {
    let server = NullServer::quick();
    let Address::Unix(target) = server.target().address else {
        unreachable!("a null server listens on a socket");
    };
    let line = Standing::before(Address::Unix(target.clone()), 0);
    let mut greeting = [0; 5];
    let mut client = UnixStream::connect(&line.socket).unwrap();
    client.read_exact(&mut greeting).unwrap();
    assert_eq!(greeting.last(), Some(&10), "protocol version 10");
    drop(server);
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).unwrap();
    let mut said = Vec::new();
    let mut client = UnixStream::connect(&line.socket).unwrap();
    client.read_to_end(&mut said).unwrap();
    let said = String::from_utf8_lossy(&said).into_owned();
    let place = target.display().to_string();
    assert!(
        said.contains("cannot reach socket") && said.contains(&place),
        "{said}"
    );
    let report = line.end();
    assert_eq!((report.connections, report.refused), (1, 1));
    assert!(report.refusal.unwrap().contains(&place));
}

#[test]
fn a_line_before_nobody_does_not_begin() {
    let line = DelayLine {
        target: Address::Unix(place()),
        socket: Some(place()),
        port: None,
        round_trip_ns: 0,
        threads: 1,
    };
    let failure = stand(&line, &mut |_| {}, None, &Arc::default()).unwrap_err();
    assert!(
        failure.message.starts_with("cannot connect to socket"),
        "{}",
        failure.message
    );
    assert!(failure.hint.is_some());
}

#[test]
fn distance_0_passes_the_line_too() {
    let server = NullServer::quick();
    let line = Standing::before(server.target().address, 0);
    let mut client = UnixStream::connect(&line.socket).unwrap();
    client.read_exact(&mut [0; 5]).unwrap();
    let report = line.end();
    assert_eq!(report.connections, 1);
    assert!(report.bytes_to_client > 0 && report.bytes_to_server == 0);
}
