//! The addresses of servers and the users to log in as, from a plan.

use super::tls::{consent_of, tls_of};
use contend_plan::{Compression, Server};
use contend_reactor::socket::Address;
use contend_wire::mysql::{Algorithm, Charset, Options};
use contend_wire::{Credentials, WireError};
use std::time::Duration;

/// Where a server is, and how to log in to it.
#[derive(Clone, Debug)]
pub struct Target {
    pub address: Address,
    pub credentials: Credentials,
    /// The options of the sessions, if it speaks SQL.
    pub options: Options,
    pub connect_timeout: Duration,
}

/// Servers that are all entered in the same way, such as those of a script.
#[derive(Clone, Debug)]
pub struct Servers {
    pub addresses: Vec<Address>,
    pub credentials: Credentials,
    pub options: Options,
    pub connect_timeout: Duration,
}

impl Servers {
    /// The server at this place, or the first; none if no server is named.
    pub fn at(&self, endpoint: usize) -> Option<Target> {
        let address = self.addresses.get(endpoint);
        let address = address.or_else(|| self.addresses.first())?;
        Some(self.target(address.clone()))
    }

    /// One of them, at this address.
    pub fn target(&self, address: Address) -> Target {
        Target {
            address,
            credentials: self.credentials.clone(),
            options: self.options.clone(),
            connect_timeout: self.connect_timeout,
        }
    }
}

/// The address of a server and the user to log in as.
///
/// # Errors
/// The password or the address is missing; the text names the path in the plan.
pub fn target_of(server: &Server) -> Result<Target, String> {
    Ok(Target {
        address: address_of(server)?,
        credentials: Credentials {
            user: server.user.clone(),
            password: password_of(server)?,
        },
        options: options_of(server).map_err(|error| format!("server: {error}"))?,
        connect_timeout: Duration::from_secs_f64(server.connect_timeout_s),
    })
}

fn options_of(server: &Server) -> Result<Options, WireError> {
    let host = server.host.as_deref().unwrap_or("localhost");
    Ok(Options {
        database: server.database.clone(),
        charset: Charset::named(&server.charset)?,
        unix_socket: server.socket.is_some(),
        local_infile: server.local_infile,
        cache_metadata: server.cache_metadata,
        compression: match server.compression {
            Compression::None => None,
            Compression::Zlib => Some(Algorithm::Zlib),
            Compression::Zstd => Some(Algorithm::Zstd),
        },
        tls: tls_of(&server.tls, host)?,
        consent: consent_of(
            server.enable_cleartext_plugin,
            server.get_server_public_key,
            server.server_public_key_path.as_deref(),
        )?,
        ..Options::default()
    })
}

/// The password, out of the environment.
///
/// # Errors
/// The variable is not set.
pub fn password_of(server: &Server) -> Result<String, String> {
    match &server.password_env {
        None => Ok(String::new()),
        Some(name) => std::env::var(name).map_err(|_| {
            format!("server.password_env: the environment variable {name} is not set")
        }),
    }
}

/// # Errors
/// The host cannot be looked up.
pub fn address_of(server: &Server) -> Result<Address, String> {
    if let Some(socket) = &server.socket {
        return Ok(Address::Unix(socket.clone()));
    }
    let host = server.host.as_deref().unwrap_or_default();
    Address::of_host(host, server.port)
        .map_err(|error| format!("server.host: {host} cannot be looked up: {error}"))
}
