//! Opens non-blocking sockets to the server.

use super::wait::any_ready;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where the server listens, with names already looked up: a worker never waits for a resolver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Unix(PathBuf),
    Tcp(SocketAddr),
    /// A name that nobody knows, for those who say so when they connect.
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
            None => Err(io::Error::new(
                io::ErrorKind::NotFound,
                "the name has no address",
            )),
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
                // The queue of a Unix socket is full, and nothing tells when it is not.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !left().is_zero() => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                connected => break connected?,
            }
        };
        if under_way && !any_ready(&[(socket.as_raw_fd(), libc::POLLOUT)], left()) {
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

/// Connects to a Unix socket. Where the server's queue is full this fails with `WouldBlock`, and
/// no event tells when it is not: the caller tries again later.
fn connect_unix(path: &Path) -> io::Result<OwnedFd> {
    let name = path.as_os_str().as_bytes();
    // SAFETY: all zeroes is a valid value of this plain structure.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    if name.len() >= address.sun_path.len() || name.contains(&0) {
        let limit = address.sun_path.len() - 1;
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("a socket path has at most {limit} bytes, without NUL"),
        ));
    }
    for (place, byte) in address.sun_path.iter_mut().zip(name) {
        *place = *byte as libc::c_char;
    }
    let socket = new_socket(libc::AF_UNIX)?;
    connect(
        socket.as_raw_fd(),
        (&raw const address).cast(),
        size_of_val(&address),
    )?;
    Ok(socket)
}

/// Begins a TCP connection: small packets leave at once, and a dead peer is noticed.
pub(super) fn connect_tcp(address: SocketAddr) -> io::Result<(OwnedFd, bool)> {
    let (family, bytes, length) = plain(address);
    let socket = new_socket(family)?;
    set_option(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NODELAY)?;
    set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_KEEPALIVE)?;
    match connect(socket.as_raw_fd(), (&raw const bytes).cast(), length) {
        Ok(()) => Ok((socket, false)),
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok((socket, true)),
        Err(error) => Err(error),
    }
}

/// Sends what the socket takes. A peer that is gone is an error, and no signal that ends the
/// program.
pub(super) fn send(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    send_as(fd, bytes, 0)
}

/// As [`send`], and never waits for room.
pub(super) fn send_at_once(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    send_as(fd, bytes, libc::MSG_DONTWAIT)
}

fn send_as(fd: RawFd, bytes: &[u8], flags: libc::c_int) -> io::Result<usize> {
    let flags = flags | libc::MSG_NOSIGNAL;
    // SAFETY: the pointer and length are those of a live slice.
    let sent = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), flags) };
    if sent >= 0 {
        Ok(sent as usize)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The address as the kernel wants it: family, bytes, and how many of them count.
fn plain(address: SocketAddr) -> (libc::c_int, libc::sockaddr_storage, usize) {
    // SAFETY: all zeroes is a valid value of this plain structure.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    match address {
        SocketAddr::V4(v4) => {
            let plain = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(v4.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            // SAFETY: the storage is made to hold and align every kind of address.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in>().write(plain) };
            (libc::AF_INET, storage, size_of::<libc::sockaddr_in>())
        }
        SocketAddr::V6(v6) => {
            let plain = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: v6.ip().octets(),
                },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: the storage is made to hold and align every kind of address.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in6>().write(plain) };
            (libc::AF_INET6, storage, size_of::<libc::sockaddr_in6>())
        }
    }
}

fn new_socket(family: libc::c_int) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers; the result is checked.
    let fd = unsafe { libc::socket(family, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn connect(fd: RawFd, address: *const libc::sockaddr, length: usize) -> io::Result<()> {
    // SAFETY: callers give a pointer to a live address of this length.
    match unsafe { libc::connect(fd, address, length as libc::socklen_t) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set_option(fd: RawFd, level: libc::c_int, option: libc::c_int) -> io::Result<()> {
    let on: libc::c_int = 1;
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer is to a live local of the length given.
    match unsafe { libc::setsockopt(fd, level, option, (&raw const on).cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
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
        let error = connect_unix(Path::new(&"x".repeat(200))).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let error = connect_unix(Path::new("/nonexistent/sock")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_listening_socket_is_reached() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (socket, _) = connect_tcp(listener.local_addr().unwrap()).unwrap();
        for (level, option) in [
            (libc::IPPROTO_TCP, libc::TCP_NODELAY),
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
        ] {
            let mut set: libc::c_int = 0;
            let mut length = size_of::<libc::c_int>() as libc::socklen_t;
            // SAFETY: both pointers are to live locals, and the length is that of the first.
            let got = unsafe {
                let (fd, set) = (socket.as_raw_fd(), (&raw mut set).cast());
                libc::getsockopt(fd, level, option, set, &raw mut length)
            };
            assert_eq!((got, set != 0), (0, true));
        }
        if let Ok(listener) = std::net::TcpListener::bind("[::1]:0") {
            assert!(connect_tcp(listener.local_addr().unwrap()).is_ok());
        }
    }
}
