//! The table of options: name, letter, what it takes, whose it is, help; `--help` and `--version`.

/// One option.
#[derive(Debug, PartialEq, Eq)]
pub struct SlapOption {
    pub name: &'static str,
    pub letter: Option<char>,
    pub takes: Takes,
    pub whose: SlapWhose,
    pub help: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing: each time counts.
    Nothing,
    /// On or off; on if neither is given.
    Switch,
    Text,
    /// Text after a `=`, or none.
    MaybeText,
    Number,
}

impl Takes {
    /// Text after the option's letter in the same word is its value.
    pub fn has_value_behind(self) -> bool {
        !matches!(self, Self::Nothing | Self::Switch)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlapWhose {
    Theirs,
    /// MySQL's program has it, MariaDB's does not.
    MySql,
    /// Taken, and without effect here.
    NoEffect,
    /// Refused, with these words.
    Refused(&'static str),
    Ours,
}

const fn option(
    name: &'static str,
    letter: Option<char>,
    takes: Takes,
    whose: SlapWhose,
    help: &'static str,
) -> SlapOption {
    SlapOption {
        name,
        letter,
        takes,
        whose,
        help,
    }
}

use SlapWhose::{MySql, NoEffect, Ours, Refused, Theirs};
use Takes::{MaybeText, Nothing, Number, Switch, Text};

const NO_CRL: SlapWhose = Refused("certificate revocation lists are not supported");
const NO_CIPHERS: SlapWhose = Refused("the safe ciphers of TLS 1.2 and 1.3 are used");

/// In the order of the help.
#[rustfmt::skip]
pub const OPTIONS: &[SlapOption] = &[
    option("help", Some('?'), Nothing, Theirs, "print this and exit"),
    option("auto-generate-sql", Some('a'), Switch, Theirs, "generate a table, its rows and the statements"),
    option("auto-generate-sql-add-autoincrement", None, Switch, Theirs, "-a: the table has an AUTO_INCREMENT key"),
    option("auto-generate-sql-execute-number", None, Number, Theirs, "statements per client; 0: its list once"),
    option("auto-generate-sql-guid-primary", None, Switch, Theirs, "-a: the table has a key made by uuid()"),
    option("auto-generate-sql-load-type", None, Text, Theirs, "-a: mixed, update, write, key or read"),
    option("auto-generate-sql-secondary-indexes", None, Number, Theirs, "-a: number of additional columns with a unique key"),
    option("auto-generate-sql-unique-query-number", None, Number, Theirs, "-a: statements in a client's list"),
    option("auto-generate-sql-unique-write-number", None, Number, Theirs, "-a: number of different rows"),
    option("auto-generate-sql-write-number", None, Number, Theirs, "-a: rows in the table before the load"),
    option("character-sets-dir", None, Text, NoEffect, "character sets are built in"),
    option("commit", None, Number, Theirs, "switch autocommit off and commit after this number of statements"),
    option("compress", Some('C'), Switch, Theirs, "compress the connections of the load"),
    option("compression-algorithms", None, Text, MySql, "zlib, zstd or uncompressed; of a list the first is used"),
    option("concurrency", Some('c'), Text, Theirs, "number of clients; comma-separated numbers run one after the other"),
    option("create", None, Text, Theirs, "statements, or a file of them, that create the tables"),
    option("create-schema", None, Text, Theirs, "the schema (database) of the test"),
    option("csv", None, MaybeText, Theirs, "append results as CSV to this file, or to standard output"),
    option("debug", Some('#'), MaybeText, Refused("there is no debug build"), "refused"),
    option("debug-check", None, Switch, NoEffect, "without effect"),
    option("debug-info", Some('T'), Switch, NoEffect, "without effect"),
    option("default-auth", None, Text, NoEffect, "the server selects the plugin"),
    option("delimiter", Some('F'), Text, Theirs, "separator of statements; default: end of line"),
    option("detach", None, Number, Theirs, "reopen each connection after this number of statements"),
    option("enable-cleartext-plugin", None, Switch, MySql, "send the password as plain text if the server asks for it, verified or not"),
    option("engine", Some('e'), Text, Theirs, "storage engines, comma-separated, run one after the other; engine:options"),
    option("get-server-public-key", None, Switch, MySql, "accept the server's RSA key without verifying it"),
    option("host", Some('h'), Text, Theirs, "host of the server"),
    option("init-command", None, Text, Theirs, "statement for each new connection of the load"),
    option("iterations", Some('i'), Number, Theirs, "runs of each number of clients"),
    option("login-path", None, Text, Refused("login paths are not supported; use an option file"), "refused"),
    option("no-drop", None, Switch, Theirs, "keep the schema after the test"),
    option("number-char-cols", Some('x'), Text, Theirs, "-a: text columns; N:1 indexes each"),
    option("number-int-cols", Some('y'), Text, Theirs, "-a: number columns; N:1 indexes each"),
    option("number-of-queries", None, Number, Theirs, "statements of all clients together"),
    option("only-print", None, Switch, Theirs, "print the statements, contact no server"),
    option("password", Some('p'), MaybeText, Theirs, "password; without a value it is prompted for"),
    option("plugin-dir", None, Text, NoEffect, "authentication is built in"),
    option("port", Some('P'), Number, Theirs, "port of the server"),
    option("post-query", None, Text, Theirs, "statements, or a file of them, to run after each iteration"),
    option("post-system", None, Text, Theirs, "shell command to run after each iteration"),
    option("pre-query", None, Text, Theirs, "statements, or a file of them, to run before each iteration"),
    option("pre-system", None, Text, Theirs, "shell command to run before each iteration"),
    option("protocol", None, Text, Theirs, "tcp or socket"),
    option("query", Some('q'), Text, Theirs, "statements, or a file of them, that each client runs"),
    option("server-public-key-path", None, Text, MySql, "PEM file with the server's RSA key"),
    option("silent", Some('s'), Switch, Theirs, "print no report"),
    option("socket", Some('S'), Text, Theirs, "socket of the server"),
    option("sql-mode", None, Text, MySql, "SQL mode of all connections"),
    option("ssl", None, Switch, Theirs, "encrypt if the server can"),
    option("ssl-ca", None, Text, Theirs, "PEM file of the authority that signs the server's certificate"),
    option("ssl-capath", None, Text, Refused("name one PEM file with --ssl-ca"), "refused"),
    option("ssl-cert", None, Text, Theirs, "PEM file of the client's certificate"),
    option("ssl-cipher", None, Text, NO_CIPHERS, "refused"),
    option("ssl-crl", None, Text, NO_CRL, "refused"),
    option("ssl-crlpath", None, Text, NO_CRL, "refused"),
    option("ssl-key", None, Text, Theirs, "PEM file of the client's key"),
    option("ssl-mode", None, Text, MySql, "disabled, preferred, required, verify_ca or verify_identity"),
    option("ssl-verify-server-cert", None, Switch, Theirs, "the server's certificate must name the host; needs --ssl-ca"),
    option("tls-ciphersuites", None, Text, NO_CIPHERS, "refused"),
    option("tls-version", None, Text, NoEffect, "TLS 1.3, or 1.2 if the server has no newer"),
    option("user", Some('u'), Text, Theirs, "user of the server; default: the system user"),
    option("verbose", Some('v'), Nothing, Theirs, "-v -v prints the stages, -v -v -v every statement"),
    option("version", Some('V'), Nothing, Theirs, "print the version and exit"),
    option("zstd-compression-level", None, Number, NoEffect, "the level is 3"),
    option("by-statement", None, Switch, Ours, "report the times of each statement of a list of up to 250"),
    option("drop-existing", None, Switch, Ours, "drop the schema even if it existed before and has tables"),
    option("duration", None, Text, Ours, "run each iteration for this time: 10s, 500ms, 2m"),
    option("ignore-errors", None, Text, Ours, "error codes that do not end the run, or all"),
    option("json", None, MaybeText, Ours, "write results as JSON lines to this file, or to standard output"),
    option("ps-mode", None, Text, Ours, "text, or prepared: each statement is prepared on each connection"),
    option("rate", None, Number, Ours, "statements per second of all clients together, started at random times"),
    option("seed", None, Number, Ours, "seed of the chosen keys"),
];

/// Wide enough for most names.
const COLUMN: usize = 44;

pub fn version(program: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("{program}  Ver 1.0 (contend-load {version})\n")
}

pub fn usage(program: &str) -> String {
    let mut text = format!(
        "Runs statements against a server from many clients, and prints the time.\n\nUsage: \
         {program} [OPTIONS]\n\nOption files: /etc/my.cnf, /etc/mysql/my.cnf, ~/.my.cnf; groups \
         mysqlslap, mariadb-slap,\nclient, client-server, client-mariadb. Before all other \
         options:\n\x20 --print-defaults, --no-defaults, --defaults-file=FILE, \
         --defaults-extra-file=FILE,\n\x20 --defaults-group-suffix=SUFFIX\n\nOptions of \
         mysqlslap:\n"
    );
    let refused = |known: &&SlapOption| matches!(known.whose, Refused(_));
    let (refused, known): (Vec<_>, Vec<_>) = OPTIONS.iter().partition(refused);
    let ours = |known: &&SlapOption| known.whose == Ours;
    let (ours, theirs): (Vec<_>, Vec<_>) = known.into_iter().partition(ours);
    theirs.iter().for_each(|known| line(&mut text, known));
    text.push_str("\nAdditional options:\n");
    ours.iter().for_each(|known| line(&mut text, known));
    let names: Vec<&str> = refused.iter().map(|known| known.name).collect();
    text.push_str(&format!("\nRefused: --{}.\n", names.join(", --")));
    text
}

fn line(text: &mut String, known: &SlapOption) {
    let letter = known.letter.map(|letter| format!("-{letter}, "));
    let letter = letter.as_deref().unwrap_or("    ");
    let value = match known.takes {
        Nothing | Switch => "",
        Text => "=TEXT",
        MaybeText => "[=TEXT]",
        Number => "=N",
    };
    let option = format!("  {letter}--{}{value}", known.name);
    text.push_str(&format!("{option:<COLUMN$} {}\n", known.help));
}
