//! Failures as text: the problem, and what the reader can do about it.

use crate::request::LINKS_MAX;
use contend_figures::outcome::Failure;
use contend_reactor::socket::Address;
pub use contend_wire::client_error;
pub use contend_wire::error::client_error::{CANNOT_CONNECT, GONE, LOST, MALFORMED, UNKNOWN_HOST};
use contend_wire::{ServerError, WireError};
use std::any::Any;
use std::io;

/// A connection could not be made, in the form of the server's errors.
pub fn not_connected(address: &Address, error: &io::Error) -> ServerError {
    let code = match address {
        Address::Unknown { .. } => UNKNOWN_HOST,
        _ => CANNOT_CONNECT,
    };
    client_error(code, words(error))
}

/// A session asks for one connection more than its links have numbers for.
pub fn too_many_links() -> ServerError {
    let words = format!("a thread has at most {LINKS_MAX} connections");
    client_error(CANNOT_CONNECT, words)
}

/// The system's message, without the number that Rust adds.
pub fn words(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next();
    words.unwrap_or_default().to_owned()
}

/// The server refused a statement.
pub fn of_statement(error: &ServerError, statement: String) -> Failure {
    Failure {
        message: format!("the server refused a statement: {error}"),
        hint: hint(error.code).map(str::to_owned),
        code: Some(error.code),
        sqlstate: Some(error.sqlstate().to_owned()),
        statement: Some(statement),
    }
}

/// A connection could not be made.
pub fn of_connect(address: &Address, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            Some("check that the server runs and listens at this address")
        }
        io::ErrorKind::PermissionDenied => {
            Some("this user may not open the socket; run as a different user, or connect over TCP")
        }
        io::ErrorKind::TimedOut => Some("check the address, or raise connect_timeout_s"),
        _ if error.raw_os_error() == Some(libc::EMFILE) => Some("raise the limit: ulimit -n"),
        _ => None,
    };
    Failure {
        hint: hint.map(str::to_owned),
        code: Some(CANNOT_CONNECT),
        ..Failure::plain(format!("cannot connect to {address}: {error}"))
    }
}

/// A conversation could not go on.
pub fn of_wire(address: &Address, error: &WireError) -> Failure {
    match error {
        WireError::Refused(refusal) => Failure {
            hint: hint(refusal.code).map(str::to_owned),
            code: Some(refusal.code),
            sqlstate: Some(refusal.sqlstate().to_owned()),
            ..Failure::plain(format!(
                "the server at {address} refused the connection: {refusal}"
            ))
        },
        other => Failure::plain(format!("server at {address}: {other}")),
    }
}

/// The server did not answer before the load could begin.
pub fn of_silence(address: &Address, statement: String) -> Failure {
    Failure {
        hint: Some("check what the server is doing: SHOW PROCESSLIST".to_owned()),
        statement: Some(statement),
        ..Failure::plain(format!("the server at {address} does not answer"))
    }
}

/// A thread of ours panicked: `who` names it. Standard error shows where it happened.
pub fn of_panic(who: &str, panic: &(dyn Any + Send)) -> Failure {
    let words = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let words = words.unwrap_or("without a message");
    Failure {
        hint: Some("this is a fault of contend-load; report it with the plan".to_owned()),
        ..Failure::plain(format!("{who} panicked: {words}"))
    }
}

/// What to do about an error of the server.
pub fn hint(code: u16) -> Option<&'static str> {
    Some(match code {
        GONE | LOST => {
            "check the end of the server's error log; raise wait_timeout if connections are idle, \
             max_allowed_packet if statements are long"
        }
        1153 => "raise max_allowed_packet on the server, or send shorter statements",
        4031 => "raise wait_timeout on the server: it closes connections that are idle longer",
        1040 => "raise max_connections on the server, or use fewer connections",
        1044 | 1045 | 1698 => "check the user, the password, and the user's privileges",
        1049 => "create the database, or use a different one",
        1054 => "use a column of the table: SHOW COLUMNS lists them",
        1146 => "fill the table first, or correct its name",
        1129 => "unblock the host: FLUSH HOSTS on the server",
        1130 => "allow a user of the server to connect from this host",
        1148 | 3948 | 4166 => "allow local files: SET GLOBAL local_infile = 1 on the server",
        1286 => "check the server's storage engines: SHOW ENGINES",
        1203 | 1226 => "raise max_user_connections on the server, or use fewer connections",
        1461 => {
            "raise max_prepared_stmt_count on the server, use fewer connections, or use the text \
             protocol"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_full_server_names_the_variable_to_raise() {
        let address = Address::Unix("/run/db.sock".into());
        let error = ServerError {
            code: 1040,
            sqlstate: *b"08004",
            message: "Too many connections".to_owned(),
        };
        let failure = of_wire(&address, &WireError::Refused(error));
        assert!(failure.hint.unwrap().contains("max_connections"));
        assert_eq!(
            (failure.code, failure.sqlstate.as_deref()),
            (Some(1040), Some("08004"))
        );
        assert!(failure.message.contains("/run/db.sock"));
    }

    #[test]
    fn an_unknown_column_is_no_missing_table() {
        assert!(hint(1146).unwrap().contains("table first"));
        assert!(!hint(1054).unwrap().contains("first"));
        assert!(hint(1054).unwrap().contains("column"));
    }

    #[test]
    fn a_missing_socket_says_where_it_looked() {
        let address = Address::Unix("/run/db.sock".into());
        let failure = of_connect(&address, &io::Error::from_raw_os_error(libc::ENOENT));
        assert!(failure.message.contains("/run/db.sock"));
        assert!(failure.hint.is_some());
    }
}
