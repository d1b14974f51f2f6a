//! The difference between two hosts' clocks: one host answers with its clocks, the other asks.

use contend_figures::outcome::ClockOffset;
use contend_reactor::clock;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A question is this many bytes, which mean nothing.
const QUESTION_BYTES: usize = 8;
/// An answer is the steady clock and the time of day, in nanoseconds.
const ANSWER_BYTES: usize = 16;
/// A peer that is silent for this time has gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// One round trip, in nanoseconds of the clock that it names.
#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    sent_ns: u64,
    sent_wall_ns: u64,
    heard_ns: u64,
    theirs_ns: u64,
    theirs_wall_ns: u64,
}

/// Answers clients one after the other, as long as the process lives.
///
/// # Errors
/// No further client can connect.
pub fn answer(listener: &TcpListener) -> io::Result<()> {
    loop {
        let (mut client, _) = listener.accept()?;
        // A client that asks no more is done, or has gone.
        while answer_one(&mut client).is_ok() {}
    }
}

fn answer_one(client: &mut TcpStream) -> io::Result<()> {
    client.set_nodelay(true)?;
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let mut question = [0; QUESTION_BYTES];
    loop {
        client.read_exact(&mut question)?;
        let mut answer = [0; ANSWER_BYTES];
        let (steady, wall) = answer.split_at_mut(QUESTION_BYTES);
        steady.copy_from_slice(&clock::now_ns().to_be_bytes());
        wall.copy_from_slice(&wall_ns().to_be_bytes());
        client.write_all(&answer)?;
    }
}

/// Asks the host at `address` `times` times. The shortest round trip tells most: the answer can be
/// at most this much older than it seems.
///
/// # Errors
/// No clock answers there.
pub fn ask(address: &str, times: u32) -> io::Result<ClockOffset> {
    let mut server = connect(address)?;
    server.set_nodelay(true)?;
    server.set_read_timeout(Some(PATIENCE))?;
    server.set_write_timeout(Some(PATIENCE))?;
    let mut shortest = round_trip(&mut server)?;
    for _ in 1..times {
        let next = round_trip(&mut server)?;
        if next.took_ns() < shortest.took_ns() {
            shortest = next;
        }
    }
    Ok(shortest.offset())
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let mut failure = io::Error::other("it has no address");
    for one in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&one, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// A listener for clients.
///
/// # Errors
/// Listening on the address fails.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address)
}

fn round_trip(server: &mut TcpStream) -> io::Result<RoundTrip> {
    let mut answer = [0; ANSWER_BYTES];
    let sent_wall_ns = wall_ns();
    let sent_ns = clock::now_ns();
    server.write_all(&[0; QUESTION_BYTES])?;
    server.read_exact(&mut answer)?;
    let heard_ns = clock::now_ns();
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    };
    let (steady, wall) = answer.split_at(QUESTION_BYTES);
    Ok(RoundTrip {
        sent_ns,
        sent_wall_ns,
        heard_ns,
        theirs_ns: number(steady),
        theirs_wall_ns: number(wall),
    })
}

impl RoundTrip {
    fn took_ns(&self) -> u64 {
        self.heard_ns.saturating_sub(self.sent_ns)
    }

    /// Taken as if the answer had been given in the middle.
    fn offset(&self) -> ClockOffset {
        let half_ns = self.took_ns() / 2;
        let us = |theirs_ns: u64, sent_ns: u64| {
            (i128::from(theirs_ns) - i128::from(sent_ns) - i128::from(half_ns)) as f64 / 1e3
        };
        ClockOffset {
            steady_us: us(self.theirs_ns, self.sent_ns),
            wall_us: us(self.theirs_wall_ns, self.sent_wall_ns),
            error_us: self.took_ns() as f64 / 2e3,
        }
    }
}

/// The time of day, in nanoseconds since 1970.
fn wall_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    clock::nanoseconds(since.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_clock_agrees_with_itself_within_its_error() {
        let listener = listen(([127, 0, 0, 1], 0).into()).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || answer(&listener));
        for _ in 0..2 {
            let offset = ask(&address, 200).unwrap();
            assert!(offset.error_us > 0.0);
            assert!(offset.steady_us.abs() <= offset.error_us, "{offset:?}");
            // The time of day may be corrected meanwhile.
            assert!(offset.wall_us.abs() < 1e6, "{offset:?}");
        }
    }

    #[test]
    fn an_offset_is_what_remains_of_half_the_round_trip() {
        let trip = RoundTrip {
            sent_ns: 1_000_000,
            sent_wall_ns: 9_000_000,
            heard_ns: 1_400_000,
            theirs_ns: 6_200_000,
            theirs_wall_ns: 4_200_000,
        };
        let offset = trip.offset();
        assert_eq!((offset.steady_us, offset.wall_us), (5_000.0, -5_000.0));
        assert_eq!(offset.error_us, 200.0);
    }

    #[test]
    fn nobody_there_is_an_error() {
        let gone = listen(([127, 0, 0, 1], 0).into()).unwrap();
        let address = gone.local_addr().unwrap().to_string();
        drop(gone);
        assert!(ask(&address, 1).is_err());
    }
}
