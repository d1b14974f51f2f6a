//! Where clients come in: a Unix socket, a port of the loopback address, or both.

use super::Service;
use crate::drive::failure;
use crate::outcome::Failure;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Clients that may wait to be let in: a load opens all its connections at once.
const BACKLOG: libc::c_int = 16_384;
/// When no descriptor is left, this long is waited for one.
const NO_ROOM_PAUSE: Duration = Duration::from_millis(10);

/// Where the server listens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listening {
    pub socket: Option<PathBuf>,
    pub port: Option<u16>,
}

/// The listening sockets. A Unix socket's file goes with them.
pub struct Doors {
    unix: Option<OwnedFd>,
    tcp: Option<OwnedFd>,
    listening: Listening,
}

impl Doors {
    pub fn open(service: &Service) -> Result<Self, Failure> {
        let mut doors = Self {
            unix: None,
            tcp: None,
            listening: Listening::default(),
        };
        if let Some(path) = &service.socket {
            let socket = listen_unix(path).map_err(|error| taken(&path.display(), &error))?;
            doors.unix = Some(socket);
            doors.listening.socket = Some(path.clone());
        }
        if let Some(port) = service.port {
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

    pub fn sockets(&self) -> impl Iterator<Item = &OwnedFd> {
        self.unix.iter().chain(&self.tcp)
    }
}

impl Drop for Doors {
    fn drop(&mut self) {
        if let Some(path) = &self.listening.socket {
            // If it is gone already, so much the better.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Lets one client in; none where nobody waits.
pub fn admit(listener: &OwnedFd) -> Option<OwnedFd> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the address is not asked for, so the pointers may be null.
    let client = unsafe {
        libc::accept4(
            listener.as_raw_fd(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            flags,
        )
    };
    if client < 0 {
        let error = io::Error::last_os_error();
        if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) {
            // The client keeps waiting in the queue; without a pause this would spin.
            std::thread::sleep(NO_ROOM_PAUSE);
        }
        return None;
    }
    // SAFETY: the descriptor was just made and nobody else has it.
    let client = unsafe { OwnedFd::from_raw_fd(client) };
    let on: libc::c_int = 1;
    // A Unix socket has no such option, and needs none.
    // SAFETY: the pointer is to a live local of the length given.
    unsafe {
        libc::setsockopt(
            client.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_NODELAY,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        );
    }
    Some(client)
}

fn listen_unix(path: &Path) -> io::Result<OwnedFd> {
    let bound = match UnixListener::bind(path) {
        // What a server that was killed left behind is no server.
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

/// A longer queue than the standard library asks for, and no blocking.
fn ready(socket: OwnedFd) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the results are checked.
    unsafe {
        if libc::listen(socket.as_raw_fd(), BACKLOG) != 0 {
            return Err(io::Error::last_os_error());
        }
        if libc::fcntl(socket.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(socket)
}

fn taken(place: &dyn std::fmt::Display, error: &io::Error) -> Failure {
    Failure {
        hint: (error.kind() == ErrorKind::AddrInUse)
            .then(|| "another server listens there: name another place".to_owned()),
        ..failure::plain(format!("cannot listen at {place}: {error}"))
    }
}
