//! The options of the database driver.

use super::known::Whose::{Both, Only1_0, Only1_1};
use super::known::{Group, known};
use crate::lua::options::OptionType::{Bool, List, Str};

pub const DATABASE: Group = Group {
    title: "Databases in general:",
    options: &[
        known(
            "db-driver",
            Str,
            Some("mysql"),
            Both,
            "database driver; there is mysql",
        ),
        known(
            "db-ps-mode",
            Str,
            Some("auto"),
            Both,
            "prepared statements: on the server (auto), or as plain text (disable)",
        ),
        known(
            "db-debug",
            Bool,
            Some("off"),
            Both,
            "say what the driver does",
        ),
    ],
};

pub const MYSQL: Group = Group {
    title: "mysql options:",
    options: &[
        known(
            "mysql-host",
            List,
            Some("localhost"),
            Both,
            "hosts, which connections take in turn",
        ),
        known(
            "mysql-port",
            List,
            Some("3306"),
            Both,
            "ports, which connections take in turn",
        ),
        known(
            "mysql-socket",
            List,
            Some(""),
            Both,
            "Unix sockets, which connections take in turn",
        ),
        known("mysql-user", Str, Some("sbtest"), Both, "user"),
        known(
            "mysql-password",
            Str,
            Some(""),
            Both,
            "password; empty: that of MYSQL_PWD",
        ),
        known("mysql-db", Str, Some("sbtest"), Both, "database"),
        known(
            "mysql-ssl",
            Bool,
            Some("off"),
            Only1_0,
            "speak TLS; the server is not verified",
        ),
        known(
            "mysql-ssl",
            Str,
            Some("disabled"),
            Only1_1,
            "TLS {disabled,preferred,required,verify_ca,verify_identity}",
        ),
        known(
            "mysql-ssl-key",
            Str,
            None,
            Only1_1,
            "file of the client's key",
        ),
        known(
            "mysql-ssl-ca",
            Str,
            None,
            Only1_1,
            "file of the authorities' certificates",
        ),
        known(
            "mysql-ssl-cert",
            Str,
            None,
            Only1_1,
            "file of the client's certificate",
        ),
        known(
            "mysql-ssl-cipher",
            Str,
            Some(""),
            Both,
            "accepted; the ciphers are those of rustls",
        ),
        known(
            "mysql-compression",
            Bool,
            Some("off"),
            Both,
            "compress what is sent, by zlib",
        ),
        known(
            "mysql-compression-algorithms",
            Str,
            Some("zlib"),
            Only1_1,
            "compress by one of these {zlib,zstd,uncompressed}",
        ),
        known(
            "mysql-debug",
            Bool,
            Some("off"),
            Both,
            "say each call of the driver",
        ),
        known(
            "mysql-ignore-errors",
            List,
            Some("1213,1020,1205"),
            Both,
            "errors after which an event begins again, by number, or all",
        ),
        known(
            "mysql-dry-run",
            Bool,
            Some("off"),
            Both,
            "connect to nothing, ask nothing",
        ),
    ],
};
