//! Which servers scripts connect to, and after which of their errors scripts go on.

use contend_figures::IgnoredErrors;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Settings of the database driver.
#[derive(Debug, Default)]
pub struct Database {
    /// As `--db-driver` names it.
    pub driver: String,
    pub endpoints: Vec<Endpoint>,
    pub user: String,
    pub password: String,
    pub name: String,
    pub ignore: IgnoredErrors,
    /// Connect to nothing; every query counts as one of the other kind.
    pub dry_run: bool,
    /// Put the parameters of prepared statements into their text.
    pub emulate_statements: bool,
    pub use_made: UseMade,
}

/// Use of the settings while scripts ran.
#[derive(Debug, Default)]
pub struct UseMade {
    next: AtomicUsize,
    /// A script asked for the driver: reports speak of SQL.
    used: AtomicBool,
}

/// One address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Socket(PathBuf),
    Host { host: String, port: u16 },
}

/// The driver that scripts can have.
pub const DRIVER: &str = "mysql";

impl Database {
    /// The endpoint of the next connection: all take turns.
    pub fn next_endpoint(&self) -> usize {
        self.use_made.next.fetch_add(1, Relaxed) % self.endpoints.len().max(1)
    }

    pub fn set_used(&self) {
        self.use_made.used.store(true, Relaxed);
    }

    pub fn is_used(&self) -> bool {
        self.use_made.used.load(Relaxed)
    }
}

impl Endpoint {
    /// Sockets where there are any, else every port of the first host, of the second, and so on.
    pub fn list(
        sockets: &[String],
        hosts: &[String],
        ports: &[u16],
        local_socket: PathBuf,
    ) -> Vec<Self> {
        if !sockets.is_empty() {
            return sockets
                .iter()
                .map(|path| Self::Socket(path.into()))
                .collect();
        }
        let mut list = Vec::new();
        for host in hosts {
            if host == "localhost" {
                // As the client libraries read this name: the machine's own socket.
                list.push(Self::Socket(local_socket.clone()));
                continue;
            }
            list.extend(ports.iter().map(|&port| Self::Host {
                host: host.clone(),
                port,
            }));
        }
        list
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn texts(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    #[test]
    fn connections_take_turns_over_ports_then_hosts() {
        let list = Endpoint::list(&[], &texts(&["a", "localhost"]), &[1, 2], "/s".into());
        assert_eq!(
            list,
            [
                Endpoint::Host {
                    host: "a".into(),
                    port: 1
                },
                Endpoint::Host {
                    host: "a".into(),
                    port: 2
                },
                Endpoint::Socket("/s".into()),
            ]
        );
        let database = Database {
            endpoints: list,
            ..Database::default()
        };
        let turns: Vec<_> = (0..4).map(|_| database.next_endpoint()).collect();
        assert_eq!(turns, [0, 1, 2, 0]);
    }

    #[test]
    fn sockets_go_before_hosts() {
        let list = Endpoint::list(&texts(&["/x", "/y"]), &texts(&["a"]), &[1], "/s".into());
        assert_eq!(
            list,
            [Endpoint::Socket("/x".into()), Endpoint::Socket("/y".into())]
        );
    }
}
