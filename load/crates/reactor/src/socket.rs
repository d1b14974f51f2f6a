//! Opens non-blocking sockets to the server.

use super::wait::is_writable;
use rustix::buffer::Buffer;
use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, sockopt,
};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The most bytes of a Unix socket's path: the kernel needs no NUL after it.
const PATH_BYTES_MAX: usize = 108;

/// Places where servers of distributions put their socket.
const LOCAL_SOCKETS: [&str; 3] = [
    "/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
];

/// Where a server of this host most likely listens, if the plan names no socket.
pub fn local_socket() -> PathBuf {
    let mut places = LOCAL_SOCKETS.iter().map(Path::new);
    let first = places.find(|path| path.exists());
    first
        .unwrap_or_else(|| Path::new(LOCAL_SOCKETS[0]))
        .to_owned()
}

/// Where the server listens, with names already looked up: a worker never waits for a resolver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Unix(PathBuf),
    Tcp(SocketAddr),
    /// A name that could not be resolved; the connect call reports it.
    Unknown {
        host: String,
        why: String,
    },
}

impl Address {
    /// The first address of a host name.
    pub fn of_host(host: &str, port: u16) -> io::Result<Self> {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        match (host, port).to_socket_addrs()?.next() {
            Some(address) => Ok(Self::Tcp(address)),
            None => Err(io::Error::new(io::ErrorKind::NotFound, "it has no address")),
        }
    }

    /// A socket, and whether its connection is still under way.
    pub fn connect(&self) -> io::Result<(OwnedFd, bool)> {
        match self {
            Self::Unix(path) => connect_unix(path).map(|socket| (socket, false)),
            Self::Tcp(address) => connect_tcp(*address),
            Self::Unknown { host, why } => {
                let words = format!("unknown host '{host}': {why}");
                Err(io::Error::new(io::ErrorKind::NotFound, words))
            }
        }
    }

    /// A socket that is connected at `limit` at the latest.
    pub fn connect_by(&self, limit: Instant) -> io::Result<OwnedFd> {
        let left = || limit.saturating_duration_since(Instant::now());
        let (socket, under_way) = loop {
            match self.connect() {
                // The queue of a Unix socket is full, and no event comes when it has room.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !left().is_zero() => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                connected => break connected?,
            }
        };
        if under_way && !is_writable(&socket, left()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(socket)
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "socket {}", path.display()),
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unknown { host, .. } => write!(f, "host {host}"),
        }
    }
}

/// Connects to a Unix socket. If the server's queue is full this fails with `WouldBlock`, and no
/// event comes when it has room: the caller tries again later.
fn connect_unix(path: &Path) -> io::Result<OwnedFd> {
    let address = SocketAddrUnix::new(path).map_err(|_| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("use a socket path of at most {PATH_BYTES_MAX} bytes, without NUL"),
        )
    })?;
    let socket = new_socket(AddressFamily::UNIX)?;
    net::connect(&socket, &address)?;
    Ok(socket)
}

/// Begins a TCP connection: small packets leave at once, and a dead peer is noticed.
pub(super) fn connect_tcp(address: SocketAddr) -> io::Result<(OwnedFd, bool)> {
    let socket = new_socket(match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    })?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    sockopt::set_socket_keepalive(&socket, true)?;
    match net::connect(&socket, &address) {
        Ok(()) => Ok((socket, false)),
        Err(Errno::INPROGRESS) => Ok((socket, true)),
        Err(error) => Err(error.into()),
    }
}

fn new_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(net::socket_with(family, SocketType::STREAM, flags, None)?)
}

/// Sends as many bytes as the socket takes, without waiting for room. A peer that is gone is an
/// error, and not a signal that ends the program.
#[inline]
pub fn send(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    Ok(net::send(
        socket,
        bytes,
        SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
    )?)
}

/// Takes the bytes in the socket, without waiting for more; 0 if the other side has closed it.
#[inline]
pub fn receive<B: Buffer<u8>>(socket: impl AsFd, buffer: B) -> io::Result<usize> {
    let (_, filled) = net::recv(socket, buffer, RecvFlags::DONTWAIT)?;
    Ok(filled)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_and_numbers_give_addresses() {
        assert_eq!(
            Address::of_host("127.0.0.1", 3307).unwrap(),
            Address::Tcp(([127, 0, 0, 1], 3307).into())
        );
        assert!(matches!(Address::of_host("[::1]", 1).unwrap(), Address::Tcp(a) if a.is_ipv6()));
        assert!(Address::of_host("no.such.host.invalid", 1).is_err());
    }

    #[test]
    fn a_path_that_is_too_long_is_refused_before_the_kernel_sees_it() {
        for path in [&*"x".repeat(PATH_BYTES_MAX + 1), "/with\0nul"] {
            let error = connect_unix(Path::new(path)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
        let longest = "x".repeat(PATH_BYTES_MAX);
        let error = connect_unix(Path::new(&longest)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let error = connect_unix(Path::new("/nonexistent/sock")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_listening_socket_is_reached() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (socket, _) = connect_tcp(listener.local_addr().unwrap()).unwrap();
        assert_eq!(sockopt::tcp_nodelay(&socket), Ok(true));
        assert_eq!(sockopt::socket_keepalive(&socket), Ok(true));
        if let Ok(listener) = std::net::TcpListener::bind("[::1]:0") {
            assert!(connect_tcp(listener.local_addr().unwrap()).is_ok());
        }
    }
}
