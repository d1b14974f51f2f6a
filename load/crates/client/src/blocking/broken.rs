//! Why a connection with a waiting caller is of no more use.

use crate::failure;
use crate::failure::{CANNOT_CONNECT, GONE, LOST, MALFORMED, client_error, not_connected, words};
use contend_figures::outcome::Failure;
use contend_reactor::socket::Address;
use contend_wire::{ServerError, WireError};
use std::io::{self, ErrorKind};

#[derive(Debug)]
pub enum Broken {
    /// It never stood.
    Unreachable(io::Error),
    /// The socket takes no more.
    Unsent(io::Error),
    /// The socket gives no more.
    Lost(io::Error),
    /// The other side closed it.
    Closed,
    /// The server broke the protocol, or let us not in.
    Wire(WireError),
    /// The caller would not wait any longer.
    Ended(Failure),
}

impl From<WireError> for Broken {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

impl Broken {
    /// For a report.
    pub fn failure(self, address: &Address) -> Failure {
        let hung_up = |why: &str| Failure {
            hint: failure::hint(LOST).map(str::to_owned),
            code: Some(LOST),
            ..Failure::plain(format!("the server at {address} disconnected{why}"))
        };
        match self {
            Self::Unreachable(error) => failure::of_connect(address, &error),
            Self::Unsent(error) | Self::Lost(error) => hung_up(&format!(": {error}")),
            Self::Closed => hung_up(""),
            Self::Wire(error) => failure::of_wire(address, &error),
            Self::Ended(failure) => failure,
        }
    }

    /// For a report, on a connection that was never opened.
    pub fn unopened(self, address: &Address) -> Failure {
        match self {
            Self::Unsent(error) | Self::Lost(error) => failure::of_connect(address, &error),
            Self::Closed => failure::of_connect(address, &ErrorKind::ConnectionReset.into()),
            other => other.failure(address),
        }
    }

    /// In the form of the server's errors.
    pub fn server_error(self, address: &Address) -> ServerError {
        match self {
            Self::Unreachable(error) => not_connected(address, &error),
            Self::Unsent(error) => client_error(GONE, words(&error)),
            Self::Lost(error) => client_error(LOST, words(&error)),
            Self::Closed => client_error(LOST, "the server closed the connection"),
            Self::Wire(WireError::Refused(error)) => error,
            Self::Wire(error) => client_error(MALFORMED, error.to_string()),
            Self::Ended(failure) => client_error(CANNOT_CONNECT, failure.message.as_str()),
        }
    }
}
