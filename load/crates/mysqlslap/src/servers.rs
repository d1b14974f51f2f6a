//! Which server the options name, and how to log in to it.

use super::arguments::SlapOptions;
use contend_client::Target;
use contend_client::tls::{consent_of, tls_of};
use contend_plan::{Tls, TlsMode};
use contend_reactor::socket::{Address, local_socket};
use contend_wire::Credentials;
use contend_wire::mysql;
use contend_wire::mysql::Algorithm;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const PORT: u16 = 3306;

/// The server's address and options, without a schema.
///
/// # Errors
/// Options that make no sense, as text that names the option.
pub fn target(options: &SlapOptions, password: Option<String>) -> Result<Target, String> {
    let host = options.text("host").unwrap_or("localhost");
    let address = address(options, host)?;
    let tls = tls_of(&tls(options)?, host).map_err(|why| why.to_string())?;
    Ok(Target {
        options: mysql::Options {
            unix_socket: matches!(address, Address::Unix(_)),
            multi_statements: true,
            compression: compression(options)?,
            tls,
            consent: consent_of(
                options.switch("enable-cleartext-plugin") == Some(true),
                options.switch("get-server-public-key") == Some(true),
                options.text("server-public-key-path").map(Path::new),
            )
            .map_err(|why| why.to_string())?,
            ..mysql::Options::default()
        },
        address,
        credentials: Credentials {
            user: options.text("user").map_or_else(system_user, str::to_owned),
            password: password
                .or_else(|| std::env::var("MYSQL_PWD").ok())
                .unwrap_or_default(),
        },
        connect_timeout: CONNECT_TIMEOUT,
    })
}

fn address(options: &SlapOptions, host: &str) -> Result<Address, String> {
    let protocol = options.text("protocol").map(str::to_ascii_lowercase);
    let means = |name: &str| protocol.as_deref().is_some_and(|p| name.starts_with(p));
    if protocol.is_some() && !means("tcp") && !means("socket") {
        return Err(format!(
            "Unknown option to protocol: {}\nAlternatives are: 'TCP','SOCKET'",
            options.text("protocol").unwrap_or_default()
        ));
    }
    // A port or a socket on the command line decides; one in an option file does not.
    let by_line = match options.last_on_line(&["port", "socket"]) {
        Some("port") if options.text("host").is_none() => Some(true),
        Some("socket") if host == "localhost" => Some(false),
        _ => None,
    };
    let tcp = match protocol {
        Some(_) => means("tcp"),
        None => by_line.unwrap_or(host != "localhost"),
    };
    if !tcp {
        let named = options.text("socket").map(PathBuf::from);
        let named = named.or_else(|| std::env::var_os("MYSQL_UNIX_PORT").map(PathBuf::from));
        return Ok(Address::Unix(named.unwrap_or_else(local_socket)));
    }
    let env = || std::env::var("MYSQL_TCP_PORT").ok()?.parse().ok();
    let port = match options.number("port") {
        None | Some(0) => env().unwrap_or(PORT),
        Some(port) => {
            u16::try_from(port).map_err(|_| format!("--port={port}: use at most 65535"))?
        }
    };
    let found = Address::of_host(host, port);
    Ok(found.unwrap_or_else(|error| Address::Unknown {
        host: host.to_owned(),
        why: error.to_string(),
    }))
}

fn tls(options: &SlapOptions) -> Result<Tls, String> {
    let path = |name| options.text(name).map(PathBuf::from);
    let (ca, certificate, key) = (path("ssl-ca"), path("ssl-cert"), path("ssl-key"));
    let mode = options.text("ssl-mode").map(str::to_ascii_lowercase);
    let mode = match mode.as_deref() {
        Some("disabled") => TlsMode::Disabled,
        Some("preferred") => TlsMode::Preferred,
        Some("required") => TlsMode::Required,
        Some("verify_ca") => TlsMode::VerifyCa,
        Some("verify_identity") => TlsMode::VerifyIdentity,
        Some(other) => {
            return Err(format!(
                "--ssl-mode={other}: use disabled, preferred, required, verify_ca or \
                 verify_identity"
            ));
        }
        None if options.switch("ssl") == Some(false) => TlsMode::Disabled,
        None if options.switch("ssl-verify-server-cert") == Some(true) => TlsMode::VerifyIdentity,
        None if ca.is_some() => TlsMode::VerifyCa,
        None if options.switch("ssl") == Some(true) || certificate.is_some() => TlsMode::Required,
        None => TlsMode::Preferred,
    };
    Ok(Tls {
        mode,
        ca,
        certificate,
        key,
    })
}

fn compression(options: &SlapOptions) -> Result<Option<Algorithm>, String> {
    let named = options.text("compression-algorithms");
    match named.and_then(|list| list.split(',').next()) {
        None if options.switch("compress") == Some(true) => Ok(Some(Algorithm::Zlib)),
        None | Some("uncompressed") => Ok(None),
        Some("zlib") => Ok(Some(Algorithm::Zlib)),
        Some("zstd") => Ok(Some(Algorithm::Zstd)),
        Some(other) => Err(format!(
            "--compression-algorithms={other}: use zlib, zstd or uncompressed"
        )),
    }
}

/// The name that the clients of the servers use.
fn system_user() -> String {
    if rustix::process::geteuid().is_root() {
        return "root".to_owned();
    }
    let names = ["USER", "LOGNAME", "LOGIN"].iter();
    let name = names.into_iter().find_map(|name| std::env::var(name).ok());
    name.unwrap_or_else(|| "UNKNOWN_USER".to_owned())
}

/// Asks for a password on the terminal, or on standard error and input where there is none.
///
/// # Errors
/// No answer comes.
pub fn prompt() -> io::Result<String> {
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty");
    let mut line = String::new();
    match terminal {
        Ok(mut terminal) => {
            terminal.write_all(b"Enter password: ")?;
            let quiet = Quiet::new(&terminal);
            BufReader::new(&terminal).read_line(&mut line)?;
            drop(quiet);
            terminal.write_all(b"\n")?;
        }
        Err(_) => {
            io::stderr().write_all(b"Enter password: ")?;
            io::stdin().lock().read_line(&mut line)?;
        }
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// A terminal that does not show typed text, until this is dropped.
struct Quiet<'t> {
    terminal: &'t File,
    before: Option<rustix::termios::Termios>,
}

impl<'t> Quiet<'t> {
    fn new(terminal: &'t File) -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(terminal).ok();
        if let Some(before) = &before {
            let mut quiet = before.clone();
            quiet.local_modes.remove(LocalModes::ECHO);
            // If the terminal refuses, the user sees the password while typing it.
            let _ = tcsetattr(terminal, OptionalActions::Flush, &quiet);
        }
        Self { terminal, before }
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let now = rustix::termios::OptionalActions::Now;
            let _ = rustix::termios::tcsetattr(self.terminal, now, before);
        }
    }
}
