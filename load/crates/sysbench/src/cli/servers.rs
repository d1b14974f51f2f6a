//! Which servers the options name, and how to enter them.

use super::arguments::Wrong;
use super::settings::path_of;
use crate::host::Servers;
use crate::lua::database::{Database, Endpoint};
use crate::lua::options::{ScriptOptions, list};
use crate::lua::run::Compat;
use contend_client::tls::{consent_of, tls_of};
use contend_figures::IgnoredErrors;
use contend_plan::{Tls, TlsMode};
use contend_reactor::socket::{Address, local_socket};
use contend_wire::Credentials;
use contend_wire::mysql;
use contend_wire::mysql::Algorithm;
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// # Errors
/// Words for a fatal message.
pub fn database(options: &ScriptOptions) -> Result<Database, Wrong> {
    let port = |port: &String| {
        let number = port.parse::<u16>();
        number.map_err(|_| format!("Invalid value for --mysql-port: '{port}'"))
    };
    let ports = options.list("mysql_port").iter().map(port);
    let ports = ports.collect::<Result<Vec<_>, _>>()?;
    let ignored = options.list("mysql_ignore_errors").iter();
    let ignored = ignored.map(String::as_str).filter(|item| !is_none(item));
    let ignore = IgnoredErrors::parse(ignored).map_err(|item| {
        format!(
            "Invalid value for --mysql-ignore-errors: '{item}' (use error numbers, all or none)"
        )
    })?;
    let emulate_statements = match options.text("db_ps_mode") {
        "auto" => false,
        "disable" => true,
        other => return Err(format!("Invalid value for --db-ps-mode: {other}")),
    };
    let password = match options.text("mysql_password") {
        "" => std::env::var("MYSQL_PWD").unwrap_or_default(),
        given => given.to_owned(),
    };
    Ok(Database {
        driver: options.text("db_driver").to_owned(),
        endpoints: Endpoint::list(
            options.list("mysql_socket"),
            options.list("mysql_host"),
            &ports,
            local_socket(),
        ),
        user: options.text("mysql_user").to_owned(),
        password,
        name: options.text("mysql_db").to_owned(),
        ignore,
        dry_run: options.flag("mysql_dry_run"),
        emulate_statements,
        ..Database::default()
    })
}

/// `none` and `none0`, which scripts give to have no error ignored: to sysbench any word is error 0.
fn is_none(item: &str) -> bool {
    matches!(item, "none" | "none0")
}

/// Addresses and options of the servers in the database settings.
///
/// # Errors
/// TLS settings that cannot work.
pub fn servers(
    options: &ScriptOptions,
    database: &Database,
    compat: Compat,
) -> Result<Servers, Wrong> {
    let address = |endpoint: &Endpoint| match endpoint {
        Endpoint::Socket(path) => Address::Unix(path.clone()),
        // Reported when a script wants to connect to it: a script may not.
        Endpoint::Host { host, port } => {
            Address::of_host(host, *port).unwrap_or_else(|error| Address::Unknown {
                host: host.clone(),
                why: error.to_string(),
            })
        }
    };
    let addresses: Vec<Address> = database.endpoints.iter().map(address).collect();
    let host = options.list("mysql_host").first();
    let host = host.map_or("", String::as_str);
    let tls = tls_of(&tls(options, compat)?, host).map_err(|error| error.to_string())?;
    Ok(Servers {
        options: mysql::Options {
            database: Some(database.name.clone()).filter(|name| !name.is_empty()),
            unix_socket: matches!(addresses.first(), Some(Address::Unix(_))),
            compression: compression(options, compat)?,
            tls,
            consent: consent_of(
                false,
                options.flag("mysql_get_server_public_key"),
                path_of(options, "mysql_server_public_key_path").as_deref(),
            )
            .map_err(|error| error.to_string())?,
            ..mysql::Options::default()
        },
        addresses,
        credentials: Credentials {
            user: database.user.clone(),
            password: database.password.clone(),
        },
        connect_timeout: CONNECT_TIMEOUT,
    })
}

fn tls(options: &ScriptOptions, compat: Compat) -> Result<Tls, Wrong> {
    let given = options.text("mysql_ssl");
    let mode = match (compat, given.to_ascii_lowercase().as_str()) {
        (Compat::V1_0, _) if options.flag("mysql_ssl") => TlsMode::Required,
        (Compat::V1_0, _) | (_, "disabled") => TlsMode::Disabled,
        (_, "preferred") => TlsMode::Preferred,
        (_, "required") => TlsMode::Required,
        (_, "verify_ca") => TlsMode::VerifyCa,
        (_, "verify_identity") => TlsMode::VerifyIdentity,
        (_, _) => return Err(format!("Invalid value for --mysql-ssl: '{given}'")),
    };
    Ok(Tls {
        mode,
        ca: path_of(options, "mysql_ssl_ca"),
        certificate: path_of(options, "mysql_ssl_cert"),
        key: path_of(options, "mysql_ssl_key"),
    })
}

fn compression(options: &ScriptOptions, compat: Compat) -> Result<Option<Algorithm>, Wrong> {
    if !options.flag("mysql_compression") {
        return Ok(None);
    }
    if compat == Compat::V1_0 {
        return Ok(Some(Algorithm::Zlib));
    }
    let named = list(options.text("mysql_compression_algorithms"));
    match named.first().map(String::as_str) {
        None | Some("zlib") => Ok(Some(Algorithm::Zlib)),
        Some("zstd") => Ok(Some(Algorithm::Zstd)),
        Some("uncompressed") => Ok(None),
        Some(other) => Err(format!(
            "Invalid value for --mysql-compression-algorithms: '{other}'"
        )),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::cli::arguments::{CommandLine, read_known};

    fn options(words: &[&str], compat: Compat) -> ScriptOptions {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        read_known(&CommandLine::parse(&words).unwrap(), compat)
            .unwrap()
            .0
    }

    #[test]
    fn defaults_are_those_of_the_field() {
        let database = database(&options(&[], Compat::V1_0)).unwrap();
        assert!(
            [1213, 1020, 1205]
                .iter()
                .all(|code| database.ignore.has(*code))
        );
        assert_eq!(
            (database.user.as_str(), database.name.as_str()),
            ("sbtest", "sbtest")
        );
        assert!(matches!(database.endpoints[..], [Endpoint::Socket(_)]));
    }

    #[test]
    fn no_error_is_ignored_by_the_words_for_it() {
        for word in ["none", "none0", "0", ""] {
            let word = format!("--mysql-ignore-errors={word}");
            let database = database(&options(&[&word], Compat::V1_0)).unwrap();
            assert!(!database.ignore.has(1213), "{word}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for words in [
            "--mysql-port=x",
            "--db-ps-mode=maybe",
            "--mysql-ignore-errors=deadlock",
        ] {
            assert!(
                database(&options(&[words], Compat::V1_0)).is_err(),
                "{words}"
            );
        }
        let wrong = options(&["--mysql-ssl=perhaps"], Compat::V1_1);
        assert!(tls(&wrong, Compat::V1_1).is_err());
    }

    #[test]
    fn encryption_is_a_switch_first_and_a_mode_later() {
        let mode = |words: &str, compat| tls(&options(&[words], compat), compat).unwrap().mode;
        assert_eq!(mode("--mysql-ssl", Compat::V1_0), TlsMode::Required);
        assert_eq!(mode("--mysql-ssl=off", Compat::V1_0), TlsMode::Disabled);
        assert_eq!(
            mode("--mysql-ssl=verify_ca", Compat::V1_1),
            TlsMode::VerifyCa
        );
        assert_eq!(
            mode("--mysql-ssl=REQUIRED", Compat::V1_1),
            TlsMode::Required
        );
    }
}
