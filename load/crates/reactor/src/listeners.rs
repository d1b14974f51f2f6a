//! The listening sockets of a server: a Unix socket, a port of the loopback address, or both.

use super::inbox::Inbox;
use super::socket::Address;
use super::wait::any_ready;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{FlockOperation, OFlags, fcntl_setfl, flock};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::sockopt::set_tcp_nodelay;
use rustix::net::{SocketFlags, accept_with, listen};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixListener;
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
pub struct Listeners {
    unix: Option<OwnedFd>,
    /// The file of the Unix socket.
    file: Option<FileNumber>,
    tcp: Option<OwnedFd>,
    listening: Listening,
}

impl Listeners {
    /// Opens the listening sockets. Port 0 takes a free port.
    ///
    /// # Errors
    /// The program cannot listen at the path or the port.
    pub fn open(socket: Option<&Path>, port: Option<u16>) -> io::Result<Self> {
        let mut listeners = Self {
            unix: None,
            file: None,
            tcp: None,
            listening: Listening::default(),
        };
        if let Some(path) = socket {
            let (socket, file) =
                listen_unix(path).map_err(|error| taken(&path.display(), &error))?;
            (listeners.unix, listeners.file) = (Some(socket), Some(file));
            listeners.listening.socket = Some(path.to_owned());
        }
        if let Some(port) = port {
            let (socket, port) = listen_tcp(port)
                .map_err(|error| taken(&format_args!("127.0.0.1:{port}"), &error))?;
            listeners.tcp = Some(socket);
            listeners.listening.port = Some(port);
        }
        Ok(listeners)
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

impl Drop for Listeners {
    fn drop(&mut self) {
        // A different server may have put its file there. If it is ours it stays so: we still
        // listen, so no server replaces it, and no file gets its number.
        if let Some(path) = &self.listening.socket
            && file_number(path).ok() == self.file
        {
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

/// The numbers of a file's device and of the file there.
type FileNumber = (u64, u64);

fn file_number(path: &Path) -> io::Result<FileNumber> {
    let found = std::fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

/// The folder of the socket is locked meanwhile. So no server of this program binds a socket there
/// between our check of an old one and its removal, and a socket that we find always listens, if
/// its server lives.
fn listen_unix(path: &Path) -> io::Result<(OwnedFd, FileNumber)> {
    let folder = path.parent().filter(|path| !path.as_os_str().is_empty());
    let folder = File::open(folder.unwrap_or(Path::new(".")))?;
    retry_on_intr(|| flock(&folder, FlockOperation::LockExclusive))?;
    let bound = match UnixListener::bind(path) {
        // A server that was killed leaves its socket file behind: it can be replaced.
        Err(error) if error.kind() == ErrorKind::AddrInUse && is_deserted(path) => {
            std::fs::remove_file(path)?;
            UnixListener::bind(path)?
        }
        bound => bound?,
    };
    Ok((ready(bound.into())?, file_number(path)?))
}

/// Does not wait for a server whose queue is full.
fn is_deserted(path: &Path) -> bool {
    matches!(
        Address::Unix(path.to_owned()).connect(),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::net::UnixStream;
    use std::sync::Barrier;

    /// A path of this test alone.
    fn path(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("contend-listeners-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    }

    fn open(path: &Path) -> io::Result<Listeners> {
        Listeners::open(Some(path), None)
    }

    #[test]
    fn the_socket_of_a_killed_server_is_replaced_and_that_of_a_live_one_is_not() {
        let path = path("replaced");
        drop(UnixListener::bind(&path).unwrap());
        let first = open(&path).unwrap();
        let refused = open(&path).err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::AddrInUse);
        assert!(refused.to_string().contains("in use"), "{refused}");
        UnixStream::connect(&path).unwrap();
        drop(first);
        assert!(!path.exists());
    }

    #[test]
    fn a_server_that_ends_leaves_the_socket_of_its_successor() {
        let path = path("successor");
        let first = open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let second = open(&path).unwrap();
        drop(first);
        UnixStream::connect(&path).unwrap();
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn of_servers_that_find_a_deserted_socket_at_once_one_replaces_it() {
        let path = path("at-once");
        for _ in 0..300 {
            drop(UnixListener::bind(&path).unwrap());
            let together = Barrier::new(3);
            let opened: Vec<Listeners> = std::thread::scope(|scope| {
                let begin = || {
                    together.wait();
                    open(&path).ok()
                };
                let threads = [0; 3].map(|_| scope.spawn(begin));
                threads
                    .into_iter()
                    .filter_map(|one| one.join().unwrap())
                    .collect()
            });
            assert_eq!(opened.len(), 1);
            UnixStream::connect(&path).unwrap();
        }
    }
}
