//! A server that says what a test wants: right answers in odd pieces, nothing, or rubbish.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How the fake treats each connection, and each command on it.
pub trait Script: Send + Sync + 'static {
    /// Says hello, or something else.
    fn greet(&self, to: &mut UnixStream) {
        let _ = to.write_all(&greeting());
    }

    /// Answers the login, which was read.
    fn admit(&self, to: &mut UnixStream) {
        let _ = to.write_all(&packet(2, OK));
    }

    /// Called before each command is read, with its number.
    fn listen(&self, _number: usize) {}

    /// Answers one command: its byte, the rest, and its number on this connection. False closes.
    fn answer(&self, to: &mut UnixStream, command: u8, body: &[u8], number: usize) -> bool;
}

pub const OK: &[u8] = b"\0\0\0\x02\0\0\0";
pub const COLUMN: &[u8] = b"\x03def\0\0\0\x01c\0\x0c\x21\0\x0a\0\0\0\xfd\0\0\0\0\0";
pub const EOF: &[u8] = b"\xfe\0\0\x02\0";

/// One packet with its header.
pub fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    [&[length[0], length[1], length[2], sequence], payload].concat()
}

pub fn greeting() -> Vec<u8> {
    let mut payload = b"\x0a5.5.5-10.11.19-fake\0\x07\0\0\0abcdefgh\0".to_vec();
    payload.extend_from_slice(b"\xfe\xf7\x2d\x02\0\xff\x80\x15\0\0\0\0\0\0\x1d\0\0\0");
    payload.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    // DEPRECATE_EOF (bit 24) is not offered, so result sets have the shape below.
    packet(0, &payload)
}

pub fn error(sequence: u8, code: u16, state: &str, message: &str) -> Vec<u8> {
    let mut payload = vec![0xff];
    payload.extend_from_slice(&code.to_le_bytes());
    payload.push(b'#');
    payload.extend_from_slice(state.as_bytes());
    payload.extend_from_slice(message.as_bytes());
    packet(sequence, &payload)
}

/// The answer to a prepare of one parameter and one column.
pub fn prepared() -> Vec<u8> {
    [
        packet(1, b"\0\x01\0\0\0\x01\0\x01\0\0\0\0"),
        packet(2, COLUMN),
        packet(3, EOF),
        packet(4, COLUMN),
        packet(5, EOF),
    ]
    .concat()
}

/// A result set of one row.
pub fn row() -> Vec<u8> {
    [
        packet(1, b"\x01"),
        packet(2, COLUMN),
        packet(3, EOF),
        packet(4, b"\x04text"),
        packet(5, EOF),
    ]
    .concat()
}

/// A result set of text, row by row.
pub fn table(rows: &[&[&str]]) -> Vec<u8> {
    let columns = rows.first().map_or(0, |row| row.len());
    let mut packets = vec![vec![columns as u8]];
    packets.extend(vec![COLUMN.to_vec(); columns]);
    packets.push(EOF.to_vec());
    for row in rows {
        let mut packet = Vec::new();
        for text in *row {
            packet.push(text.len() as u8);
            packet.extend_from_slice(text.as_bytes());
        }
        packets.push(packet);
    }
    packets.push(EOF.to_vec());
    let numbered = packets.iter().zip(1..);
    numbered
        .flat_map(|(payload, number)| packet(number, payload))
        .collect()
}

/// The right answer to every command that the workloads of these tests send.
pub fn right_answer(command: u8) -> Vec<u8> {
    match command {
        0x16 => prepared(),
        0x17 | 0x03 => row(),
        _ => packet(1, OK),
    }
}

pub struct FakeServer {
    pub socket: PathBuf,
    connections: Arc<AtomicUsize>,
}

impl FakeServer {
    pub fn start(folder: &Path, script: impl Script) -> Self {
        let socket = folder.join("fake.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let script = Arc::new(script);
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        // The thread ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                counter.fetch_add(1, Ordering::Relaxed);
                let script = Arc::clone(&script);
                let mut stream = stream.unwrap();
                std::thread::spawn(move || serve(&*script, &mut stream));
            }
        });
        Self {
            socket,
            connections,
        }
    }

    /// How many connections were ever made.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

fn serve(script: &impl Script, stream: &mut UnixStream) {
    script.greet(stream);
    if read_packet(stream).is_none() {
        return;
    }
    script.admit(stream);
    let mut number = 0;
    loop {
        script.listen(number);
        let Some(body) = read_packet(stream) else {
            return;
        };
        let Some((command, rest)) = body.split_first() else {
            return;
        };
        if *command == 0x01 || !script.answer(stream, *command, rest, number) {
            return;
        }
        number += 1;
    }
}

fn read_packet(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).ok()?;
    let mut body = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
    stream.read_exact(&mut body).ok()?;
    Some(body)
}

/// Writes byte by byte with little pauses, so that reads see torn packets.
pub fn dribble(to: &mut UnixStream, bytes: &[u8], piece: usize) {
    for part in bytes.chunks(piece) {
        if to.write_all(part).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_micros(50));
    }
}
