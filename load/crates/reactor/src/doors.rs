//! The listening sockets of a server: a Unix socket, a port of the loopback address, or both.

use super::inbox::Inbox;
use super::wait::any_ready;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_nodelay;
use rustix::net::{SocketFlags, accept_with, listen};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How many clients may wait to be accepted: a load opens all its connections at once.
const BACKLOG: i32 = 16_384;
/// How long to pause when the process has no file descriptor left for a client.
const NO_ROOM_PAUSE: Duration = Duration::from_millis(10);

/// How often to check whether to stop.
const STOPPED_YET_EVERY: Duration = Duration::from_millis(50);

/// Where the server listens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listening {
    pub socket: Option<PathBuf>,
    pub port: Option<u16>,
}

/// The listening sockets. When they are dropped, the file of the Unix socket is removed.
pub struct Doors {
    unix: Option<OwnedFd>,
    tcp: Option<OwnedFd>,
    listening: Listening,
}

impl Doors {
    /// Opens the listening sockets. Port 0 takes a free port.
    ///
    /// # Errors
    /// The program cannot listen at the path or the port.
    pub fn open(socket: Option<&Path>, port: Option<u16>) -> io::Result<Self> {
        let mut doors = Self {
            unix: None,
            tcp: None,
            listening: Listening::default(),
        };
        if let Some(path) = socket {
            let socket = listen_unix(path).map_err(|error| taken(&path.display(), &error))?;
            doors.unix = Some(socket);
            doors.listening.socket = Some(path.to_owned());
        }
        if let Some(port) = port {
            let (socket, port) = listen_tcp(port)
                .map_err(|error| taken(&format_args!("127.0.0.1:{port}"), &error))?;
            doors.tcp = Some(socket);
            doors.listening.port = Some(port);
        }
        Ok(doors)
    }

    pub fn listening(&self) -> &Listening {
        &self.listening
    }

    fn sockets(&self) -> impl Iterator<Item = &OwnedFd> {
        self.unix.iter().chain(&self.tcp)
    }

    /// Accepts clients until `stop` is set, and hands them to the inboxes in turn. Returns how
    /// many clients were accepted.
    pub fn admit_until(&self, stop: &AtomicBool, inboxes: &[Arc<Inbox>]) -> u64 {
        let mut next = inboxes.iter().cycle();
        self.admit_each(stop, |number, client| {
            if let Some(inbox) = next.next() {
                inbox.put(number, client);
            }
        })
    }

    /// Like [`Self::admit_until`], and hands each client with its number to `take`. Its socket does
    /// not block.
    pub fn admit_each(&self, stop: &AtomicBool, mut take: impl FnMut(u32, OwnedFd)) -> u64 {
        let mut watched: Vec<_> = self
            .sockets()
            .map(|socket| PollFd::new(socket, PollFlags::IN))
            .collect();
        let mut count = 0u64;
        while !stop.load(Ordering::Relaxed) {
            if !any_ready(&mut watched, STOPPED_YET_EVERY) {
                continue;
            }
            for socket in self.sockets() {
                while let Some(client) = admit(socket) {
                    let number = u32::try_from(count % u64::from(u32::MAX)).unwrap_or(0) + 1;
                    take(number, client);
                    count += 1;
                }
            }
        }
        count
    }
}

impl Drop for Doors {
    fn drop(&mut self) {
        if let Some(path) = &self.listening.socket {
            // It does no harm if the file has been removed already.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Accepts one client; none if no client waits or the accept fails.
fn admit(listener: &OwnedFd) -> Option<OwnedFd> {
    match accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
        Ok(client) => {
            // A Unix socket has no such option, and needs none.
            let _ = set_tcp_nodelay(&client, true);
            Some(client)
        }
        Err(Errno::MFILE | Errno::NFILE) => {
            // The client keeps waiting in the queue; without a pause this would spin.
            std::thread::sleep(NO_ROOM_PAUSE);
            None
        }
        Err(_) => None,
    }
}

fn listen_unix(path: &Path) -> io::Result<OwnedFd> {
    let bound = match UnixListener::bind(path) {
        // A server that was killed leaves its socket file behind: it can be replaced.
        Err(error) if error.kind() == ErrorKind::AddrInUse && is_deserted(path) => {
            std::fs::remove_file(path)?;
            UnixListener::bind(path)?
        }
        bound => bound?,
    };
    ready(bound.into())
}

fn is_deserted(path: &Path) -> bool {
    matches!(
        UnixStream::connect(path).map_err(|error| error.kind()),
        Err(ErrorKind::ConnectionRefused)
    )
}

fn listen_tcp(port: u16) -> io::Result<(OwnedFd, u16)> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    let port = bound.local_addr()?.port();
    Ok((ready(bound.into())?, port))
}

/// Sets a longer backlog than the standard library does, and makes the socket non-blocking.
fn ready(socket: OwnedFd) -> io::Result<OwnedFd> {
    listen(&socket, BACKLOG)?;
    fcntl_setfl(&socket, OFlags::NONBLOCK)?;
    Ok(socket)
}

fn taken(place: &dyn std::fmt::Display, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot listen at {place}: {error}"))
}
