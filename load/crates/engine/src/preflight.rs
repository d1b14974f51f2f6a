//! Looks whether the server has room for the run before the load begins.
//!
//! A server that is too small would report it too, but in the middle: after thousands of
//! connections, to the last one. A limit that the server does not report is not checked.

use super::job::{At, Setup};
use crate::workload;
use contend_client::Target;
use contend_client::blocking::{ControlConnection, TextRows};
use contend_client::request::RequestProtocol;
use contend_figures::outcome::Failure;
use contend_wire::Flavour;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A server that is asked for its variables answers at once, or has other troubles.
const PATIENCE: Duration = Duration::from_secs(10);

const LIMITS: &str = "SELECT @@max_connections, @@max_prepared_stmt_count";
const IN_USE: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN \
    ('Threads_connected', 'Prepared_stmt_count')";

/// The limits of the server, and how much of them other connections use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Room {
    connections_max: u64,
    connections: u64,
    statements_max: u64,
    statements: u64,
}

/// Queries the server and compares with the needs of the run. Ends when `stop` is raised.
///
/// # Errors
/// No server answers, or the server is too small; the hint names the variable to raise.
pub fn check(setup: &Setup, stop: &AtomicBool) -> Result<(), Failure> {
    let arms = (0..).zip(setup.arms.iter());
    // A server's other protocols have their own limits, which it does not report.
    let arms = arms.filter(|(_, job)| job.workload.request_protocol() == RequestProtocol::SQL);
    let arms = arms.map(|(arm, job)| {
        // Places without a name are for a script to choose from, if it wants.
        let nodes = job.named_nodes().count().max(1) as u16;
        (0..nodes).map(move |node| At { arm, node })
    });
    let places: Vec<At> = arms.flatten().collect();
    for &at in &places {
        let server = setup.target(at);
        let here = |other: &&At| setup.target(**other).address == server.address;
        let mut wanted = Wanted::default();
        for place in places.iter().filter(here) {
            wanted.add(setup, *place);
        }
        check_server(server, setup, at, wanted, stop)
            .map_err(|failure| setup.named(at, failure))?;
    }
    Ok(())
}

/// What a run needs of a server.
#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    connections: u64,
    statements: u64,
}

impl Wanted {
    /// Adds the needs of a place.
    fn add(&mut self, setup: &Setup, at: At) {
        let connections = u64::from(setup.own_connections());
        let each = setup.arms.at(at.arm).workload.prepared_statements() as u64;
        // Idle connections are there once for each arm, and its first node has them.
        let idle = if at.node == 0 { setup.idle_seats } else { 0 };
        self.connections += connections + setup.share.of(idle.into());
        self.statements += connections * each;
    }
}

fn check_server(
    server: &Target,
    setup: &Setup,
    at: At,
    wanted: Wanted,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let mut connection = ControlConnection::open(server)?;
    if let Some(room) = ask(&mut connection)? {
        compare(room, wanted)?;
    }
    let workload = &setup.arms.at(at.arm).workload;
    workload.look(&mut Looked { connection, stop })
}

/// A server as a workload sees it: with all the time that the answers take.
struct Looked<'s> {
    connection: ControlConnection,
    stop: &'s AtomicBool,
}

impl workload::LookedAtServer for Looked<'_> {
    fn flavour(&self) -> Flavour {
        self.connection.agreed().flavour
    }

    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Failure> {
        let stop = self.stop;
        let mut patience = |_| match stop.load(Ordering::Relaxed) {
            true => Err(Failure::plain("ended by a signal before the load began")),
            false => Ok(()),
        };
        self.connection.rows(sql, &mut patience)
    }
}

/// None if the server does not know the variables: it may be a proxy, or not of the family.
///
/// # Errors
/// It does not answer at all, or in nothing that can be read: so would it answer the load.
fn ask(connection: &mut ControlConnection) -> Result<Option<Room>, Failure> {
    let mut patience = |waited| {
        if waited < PATIENCE {
            Ok(())
        } else {
            Err(Failure::plain(format!(
                "no answer within {} s to {LIMITS}",
                PATIENCE.as_secs()
            )))
        }
    };
    let mut rows = |sql| match connection.rows(sql, &mut patience) {
        Err(failure) if failure.sqlstate.is_none() => Err(failure),
        answer => Ok(answer.ok()),
    };
    let Some(limits) = rows(LIMITS)? else {
        return Ok(None);
    };
    Ok(rows(IN_USE)?.and_then(|in_use| room(&limits, &in_use)))
}

/// None if the answers lack something, or have other forms.
fn room(limits: &TextRows, in_use: &TextRows) -> Option<Room> {
    let limit = |place: usize| limits.first()?.get(place)?.as_ref()?.parse().ok();
    let used = |name: &str| {
        let row = in_use.iter().find(|row| {
            row.first()
                .is_some_and(|n| n.as_deref().is_some_and(|n| n.eq_ignore_ascii_case(name)))
        })?;
        row.get(1)?.as_ref()?.parse::<u64>().ok()
    };
    Some(Room {
        connections_max: limit(0)?,
        // This connection is one of them, and will be gone.
        connections: used("Threads_connected")?.saturating_sub(1),
        statements_max: limit(1)?,
        statements: used("Prepared_stmt_count")?,
    })
}

fn compare(room: Room, wanted: Wanted) -> Result<(), Failure> {
    fits(
        "connections",
        "max_connections",
        wanted.connections,
        room.connections,
        room.connections_max,
    )?;
    fits(
        "prepared statements",
        "max_prepared_stmt_count",
        wanted.statements,
        room.statements,
        room.statements_max,
    )
}

fn fits(what: &str, variable: &str, wanted: u64, used: u64, max: u64) -> Result<(), Failure> {
    let sum = wanted.saturating_add(used);
    if sum <= max {
        return Ok(());
    }
    let others = if used > 0 {
        format!(" in addition to the {used} in use")
    } else {
        String::new()
    };
    Err(Failure {
        hint: Some(format!(
            "SET GLOBAL {variable} = {sum}, or use fewer connections"
        )),
        ..Failure::plain(format!(
            "the run needs {wanted} {what}{others}, but the server's {variable} is {max}"
        ))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_does_not_fit_names_the_variable_and_the_value() {
        assert!(fits("connections", "max_connections", 100, 51, 151).is_ok());
        let failure = fits("connections", "max_connections", 101, 51, 151).unwrap_err();
        assert_eq!(
            failure.message,
            "the run needs 101 connections in addition to the 51 in use, but the server's \
             max_connections is 151"
        );
        assert!(
            failure
                .hint
                .unwrap()
                .starts_with("SET GLOBAL max_connections = 152")
        );
        let failure = fits("prepared statements", "v", u64::MAX, 0, 1).unwrap_err();
        assert!(!failure.message.contains("in addition"));
    }
}
