//! `contend-load fill`: makes the tables of a schema and fills them with rows of a seed.

mod board;

use board::Board;
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use contend_client::Target;
use contend_client::target::{address_of, password_of};
use contend_data;
use contend_data::filling::{FillError, Filled, fill_dataset, make_database};
use contend_data::mark;
use contend_data::schema::{Dataset, Wish};
use contend_data::{DatasetEntry, SCHEMAS};
use contend_data::{KeyColumn, StorageEngine};
use contend_figures::outcome::{Failure, FillDone, FillOutcome, FilledTable};
use contend_plan::Server;
use contend_random::Distribution;
use contend_reactor::clock::seconds_ns;
use contend_reactor::signals::Signals;
use contend_reactor::socket::Address;
use contend_wire::Credentials;
use contend_wire::mysql::Options;

use contend_client::tls::{consent_of, tls_of};
use contend_console::output;
use contend_console::output::CommandError;

use contend_plan::Tls;
use contend_plan::TlsMode;

use serde_json::{Map, Value};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;
use std::time::Duration;

/// Make the tables of a schema and fill them with rows of a seed. An existing table is never
/// changed, unless its comment says that contend-load left it half filled. For a schema of several
/// tables, the same command resumes an interrupted load.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The server's Unix socket; host and port are then not used.
    #[arg(long, value_name = "PATH", required_unless_present = "host")]
    socket: Option<PathBuf>,
    #[arg(long)]
    host: Option<String>,
    #[arg(long, default_value_t = 3306)]
    port: u16,
    #[arg(long, default_value = "root")]
    user: String,
    /// The environment variable that holds the password.
    #[arg(long, value_name = "NAME")]
    password_env: Option<String>,
    /// Default: named after the schema.
    #[arg(long)]
    database: Option<String>,
    /// Create the database if it does not exist.
    #[arg(long)]
    create_database: bool,
    /// Name of sbtest's table; with --tables the prefix, to which a number is added.
    #[arg(long)]
    table: Option<String>,
    /// Number of tables of sbtest, numbered from 1.
    #[arg(long, value_name = "N")]
    tables: Option<u32>,
    /// Tables filled at the same time. Default: one per CPU.
    #[arg(long, value_name = "N")]
    sessions: Option<u32>,
    /// Which tables.
    #[arg(long, default_value = "sbtest", value_parser = schema_names())]
    schema: String,
    /// An option of the schema itself; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = own_key)]
    with: Vec<(String, Value)>,
    /// MyISAM, Aria, InnoDB, RocksDB, or a different one that the server has.
    #[arg(long, default_value = "InnoDB")]
    engine: String,
    /// Rows of each table of sbtest or test_data; number of employees (default 300024).
    #[arg(long, value_name = "N")]
    rows: Option<u64>,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Value of column k: the row's own number, or a random one.
    #[arg(long, value_enum, default_value_t = FillKey::RowNumber)]
    k: FillKey,
    /// Text added at the end of CREATE TABLE.
    #[arg(long, value_name = "TEXT", default_value = "")]
    table_options: String,
    /// Comment of each table once all its rows were counted: `contend:WORD` and the table's name.
    /// Default: the comment of --table-options.
    #[arg(long, value_name = "WORD", value_parser = mark::key)]
    mark: Option<String>,
    /// A folder of this host that the server can read. Rows then go through a named pipe in it,
    /// which is faster for MyISAM. Default: rows go over the connection.
    #[arg(long, value_name = "FOLDER")]
    pipe_dir: Option<PathBuf>,
    /// Progress on a terminal (auto), as JSON lines, or none.
    #[arg(long, value_enum, default_value_t = ShowProgress::Auto)]
    progress: ShowProgress,
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    connect_timeout_s: f64,
    #[command(flatten)]
    security: SecurityArguments,
}

fn schema_names() -> PossibleValuesParser {
    SCHEMAS
        .iter()
        .map(|entry| PossibleValue::new(entry.name).help(entry.about))
        .into()
}

/// `KEY=VALUE`; a value that is not valid JSON is text.
fn own_key(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("use KEY=VALUE")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((key.to_owned(), value))
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FillKey {
    #[value(name = "row_number")]
    RowNumber,
    Random,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ShowProgress {
    Auto,
    Json,
    None,
}

pub fn main(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let target = target_of(arguments)?;
    Ok(work(arguments, &target, &dataset_of(arguments)?)?)
}

fn target_of(arguments: &Arguments) -> Result<Target, String> {
    let timeout = arguments.connect_timeout_s;
    if !(timeout > 0.0 && timeout < 86_400.0) {
        return Err("--connect-timeout-s: use a number of seconds above 0".to_owned());
    }
    let server: Server = serde_json::from_value(serde_json::json!({
        "socket": arguments.socket,
        "host": arguments.host,
        "port": arguments.port,
        "password_env": arguments.password_env,
    }))
    .map_err(|error| error.to_string())?;
    let address = address_of(&server)?;
    let options = Options {
        database: Some(database_of(arguments)?),
        unix_socket: matches!(address, Address::Unix(_)),
        local_infile: true,
        // One order is one statement, even if the table options hold a delimiter.
        multi_statements: false,
        ..Options::default()
    };
    Ok(Target {
        credentials: Credentials {
            user: arguments.user.clone(),
            password: password_of(&server)?,
        },
        options: arguments
            .security
            .over(options, arguments.host.as_deref())?,
        address,
        connect_timeout: Duration::from_nanos(seconds_ns(timeout)),
    })
}

fn entry_of(arguments: &Arguments) -> Result<&'static DatasetEntry, String> {
    let entry = contend_data::named(&arguments.schema);
    entry.ok_or_else(|| format!("--schema: unknown schema {:?}", arguments.schema))
}

fn database_of(arguments: &Arguments) -> Result<String, String> {
    let usual = entry_of(arguments)?.database;
    Ok(arguments.database.clone().unwrap_or(usual.to_owned()))
}

fn dataset_of(arguments: &Arguments) -> Result<Dataset, String> {
    let mut keys = Map::new();
    for (key, value) in &arguments.with {
        if keys.insert(key.clone(), value.clone()).is_some() {
            return Err(format!("--with: {key} is set twice"));
        }
    }
    let wish = Wish {
        engine: StorageEngine::named(&arguments.engine)
            .map_err(|error| format!("--engine: {error}"))?,
        seed: arguments.seed,
        rows: arguments.rows,
        table_options: &arguments.table_options,
        table: arguments.table.as_deref(),
        tables: arguments.tables,
        key: match arguments.k {
            FillKey::RowNumber => KeyColumn::RowNumber,
            FillKey::Random => KeyColumn::Random(Distribution::Uniform {}),
        },
        keys,
    };
    (entry_of(arguments)?.dataset)(&wish).map_err(|error| error.to_string())
}

fn sessions_of(arguments: &Arguments) -> usize {
    match arguments.sessions {
        Some(sessions) => usize::try_from(sessions).unwrap_or(usize::MAX).max(1),
        None => available_parallelism().map_or(1, usize::from),
    }
}

fn work(arguments: &Arguments, target: &Target, dataset: &Dataset) -> io::Result<ExitCode> {
    let stop = Arc::new(AtomicBool::new(false));
    let signals = Signals::raise(&stop);
    let show = match arguments.progress {
        ShowProgress::Json => board::Show::Json,
        ShowProgress::Auto if io::stderr().is_terminal() => board::Show::Terminal,
        ShowProgress::Auto | ShowProgress::None => board::Show::Nothing,
    };
    let board = Board::new(dataset, show);
    let tell = |place, progress| board.tell(place, progress);
    let pipe_folder = arguments.pipe_dir.clone();
    let sessions = sessions_of(arguments);
    let filled = if arguments.create_database {
        make_database(target).map_err(FillError::Failed)
    } else {
        Ok(())
    }
    .and_then(|()| {
        let key = arguments.mark.as_deref();
        fill_dataset(target, dataset, key, pipe_folder, sessions, &tell, &stop)
    });
    board.clear();
    drop(signals);
    let (outcome, code) = match &filled {
        Ok(filled) => (
            FillOutcome::FillDone(done(filled, &board)),
            ExitCode::SUCCESS,
        ),
        Err(problem) => {
            let failure = problem.failure();
            output::remark(&format!("contend-load: {}", output::in_words(failure)));
            let code = match problem {
                FillError::Exists(_) => ExitCode::from(2),
                FillError::Failed(_) | FillError::Stopped(_) => ExitCode::FAILURE,
            };
            (FillOutcome::Error(Failure::clone(failure)), code)
        }
    };
    board::write(&outcome)?;
    Ok(code)
}

fn done(filled: &[Filled], board: &Board) -> FillDone {
    let hex = |sum: u64| format!("{sum:016x}");
    let slow = filled
        .iter()
        .filter(|table| table.keys_by_sort == Some(false));
    FillDone {
        rows: filled.iter().map(|table| table.rows).sum(),
        bytes: filled.iter().map(|table| table.bytes).sum(),
        seconds: board.elapsed_s(),
        checksum: hex(filled
            .iter()
            .fold(0, |sum: u64, table| sum.wrapping_add(table.checksum))),
        server_version: filled
            .iter()
            .map(|table| &table.server_version)
            .find(|version| !version.is_empty())
            .cloned()
            .unwrap_or_default(),
        warnings: slow
            .map(|table| {
                format!(
                    "the keys of {} were made through the key cache, which is slow: give the \
                     server's tmpdir more room, or raise myisam_max_sort_file_size",
                    table.table
                )
            })
            .collect(),
        tables: filled
            .iter()
            .map(|table| FilledTable {
                table: table.table.clone(),
                rows: table.rows,
                bytes: table.bytes,
                checksum: hex(table.checksum),
                load_s: table.load_s,
                keys_s: table.keys_s,
                transport: table.transport.name().to_owned(),
                keys_by_sort: table.keys_by_sort,
            })
            .collect(),
    }
}

/// Encryption of the connection, and when the password may be sent. The names are those of the
/// servers' own clients.
#[derive(Debug, clap::Args)]
pub struct SecurityArguments {
    /// Encryption mode, and what to verify.
    #[arg(
        long,
        value_parser = PossibleValuesParser::new(TLS_MODES.map(|mode| mode.0)).map(tls_mode_of),
        ignore_case = true,
        default_value = "preferred"
    )]
    ssl_mode: TlsMode,
    /// PEM file of the authority that signs the server's certificate.
    #[arg(long, value_name = "FILE")]
    ssl_ca: Option<PathBuf>,
    /// PEM file with the client's certificate.
    #[arg(long, value_name = "FILE", requires = "ssl_key")]
    ssl_cert: Option<PathBuf>,
    /// PEM file with its key.
    #[arg(long, value_name = "FILE", requires = "ssl_cert")]
    ssl_key: Option<PathBuf>,
    /// Send the password as plain text if the server asks for it, even if the server is not
    /// verified.
    #[arg(long)]
    enable_cleartext_plugin: bool,
    /// Accept the RSA key that the server sends, without verifying it.
    #[arg(long)]
    get_server_public_key: bool,
    /// PEM file with the server's RSA key.
    #[arg(long, value_name = "FILE")]
    server_public_key_path: Option<PathBuf>,
}

/// The modes, by the names of the servers' own clients.
const TLS_MODES: [(&str, TlsMode); 5] = [
    ("disabled", TlsMode::Disabled),
    ("preferred", TlsMode::Preferred),
    ("required", TlsMode::Required),
    ("verify_ca", TlsMode::VerifyCa),
    ("verify_identity", TlsMode::VerifyIdentity),
];

fn tls_mode_of(name: String) -> TlsMode {
    let found = TLS_MODES
        .iter()
        .find(|mode| mode.0.eq_ignore_ascii_case(&name));
    found.map_or(TlsMode::Preferred, |mode| mode.1)
}

impl SecurityArguments {
    /// The options of a session on that host with these.
    ///
    /// # Errors
    /// A file cannot be used, with the reason as text.
    pub fn over(&self, options: Options, host: Option<&str>) -> Result<Options, String> {
        let tls = Tls {
            mode: self.ssl_mode,
            ca: self.ssl_ca.clone(),
            certificate: self.ssl_cert.clone(),
            key: self.ssl_key.clone(),
        };
        let tls = tls_of(&tls, host.unwrap_or("localhost"));
        let consent = consent_of(
            self.enable_cleartext_plugin,
            self.get_server_public_key,
            self.server_public_key_path.as_deref(),
        );
        Ok(Options {
            tls: tls.map_err(|why| why.to_string())?,
            consent: consent.map_err(|why| why.to_string())?,
            ..options
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parse(words: &str) -> Result<Arguments, clap::Error> {
        Line::try_parse_from(std::iter::once("fill").chain(words.split_whitespace()))
            .map(|line| line.arguments)
    }

    #[test]
    fn a_table_needs_a_server_and_a_size() {
        assert!(parse("--socket /s --rows 10").is_ok());
        assert!(parse("--rows 10").is_err());
        assert!(dataset_of(&parse("--socket /s").unwrap()).is_err());
    }

    #[test]
    fn a_schema_has_its_own_database_and_keys() {
        let arguments = parse("--host h --schema employees --with emp_no_keys=true").unwrap();
        assert_eq!(database_of(&arguments).unwrap(), "employees");
        let dataset = dataset_of(&arguments).unwrap();
        let rows: Vec<u64> = dataset
            .tables
            .iter()
            .map(|one| one.content.count())
            .collect();
        assert_eq!(rows, [300_024, 9, 24, 331_603, 443_308, 2_844_047]);
        let refused = |words| dataset_of(&parse(words).unwrap()).unwrap_err();
        assert!(refused("--host h --schema employees --with x=1").contains("`x`"));
        assert!(refused("--host h --schema employees --tables 2").contains("--tables"));
        assert!(refused("--host h --rows 5 --with x=1").contains("x"));
        let twice = "--host h --schema employees --with emp_no_keys=true --with emp_no_keys=true";
        assert!(refused(twice).contains("twice"));
        assert!(parse("--host h --schema emploees").is_err());
        assert!(parse("--host h --schema employees --with x").is_err());
    }

    #[test]
    fn what_cannot_be_is_refused_before_the_server_is_asked() {
        let refused = |words| dataset_of(&parse(words).unwrap()).unwrap_err();
        assert!(refused("--host h --rows 5 --tables 0").contains("--tables"));
        assert!(refused("--host h --rows 5000000000").contains("rows"));
        assert!(refused("--host h --rows 5 --engine x;y").contains("--engine"));
        let timeout = parse("--socket /s --rows 5 --connect-timeout-s 0").unwrap();
        assert!(target_of(&timeout).is_err());
        let password = parse("--socket /s --rows 5 --password-env NOT_SET_AT_ALL").unwrap();
        assert!(target_of(&password).unwrap_err().contains("NOT_SET_AT_ALL"));
    }
}
