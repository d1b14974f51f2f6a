//! `contend-load fill`: makes tables and fills them with rows of a seed.

use super::output;
use crate::drive::blocking::Target;
use crate::drive::clock::seconds_ns;
use crate::drive::fill::{FillPhase, Filled, Order, Progress, Trouble, fill_tables, make_database};
use crate::drive::of_plan::{address_of, password_of};
use crate::drive::signals::Signals;
use crate::drive::socket::Address;
use crate::fill::table::seed_of_table;
use crate::fill::{Engine, KeyColumn, Rows, Sbtest10, Schema, Table};
use crate::outcome::{Failure, FillDone, FillOutcome, FillProgress, FilledTable};
use crate::plan::{Distribution, Server};
use crate::wire::{Credentials, Options};
use clap::ValueEnum;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Make tables and fill them with rows of a seed. A table that exists is never touched.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The server's Unix socket; then host and port are not used.
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
    #[arg(long, default_value = "sbtest")]
    database: String,
    /// Make the database where it is not there.
    #[arg(long)]
    create_database: bool,
    /// The table's name; with --tables its beginning, to which a number is added.
    #[arg(long, default_value = "sbtest")]
    table: String,
    /// Fill so many tables, named with a number from 1.
    #[arg(long, value_name = "N")]
    tables: Option<u32>,
    /// Tables that are filled at the same time.
    #[arg(long, value_name = "N", default_value_t = 1)]
    sessions: u32,
    /// sbtest: the study's table, as sysbench 0.5 made it (no column NULL, latin1, for MyISAM
    /// MAX_ROWS=50000000); sbtest-1.0: as sysbench 1.0 makes it.
    #[arg(long, value_enum, default_value_t = SchemaName::Sbtest)]
    schema: SchemaName,
    /// MyISAM, Aria, InnoDB, RocksDB, or another that the server has.
    #[arg(long, default_value = "InnoDB")]
    engine: String,
    /// Rows of each table.
    #[arg(long, value_name = "N")]
    rows: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// What k holds: the row's own number, or a random one.
    #[arg(long, value_enum, default_value_t = Key::RowNumber)]
    k: Key,
    /// Put at the end of the CREATE TABLE.
    #[arg(long, value_name = "TEXT", default_value = "")]
    table_options: String,
    /// What to do where a table exists already: refuse is the only answer.
    #[arg(long, value_enum, default_value_t = IfExists::Refuse)]
    if_exists: IfExists,
    /// A folder of this host that the server can read: rows go through a named pipe in it, which
    /// is faster for MyISAM. Without it they go over the connection.
    #[arg(long, value_name = "FOLDER")]
    pipe_dir: Option<PathBuf>,
    /// Progress for people on a terminal, or as JSON lines, or none.
    #[arg(long, value_enum, default_value_t = OutcomeWriter::Auto)]
    progress: OutcomeWriter,
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    connect_timeout_s: f64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SchemaName {
    Sbtest,
    #[value(name = "sbtest-1.0")]
    Sbtest10,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Key {
    #[value(name = "row_number")]
    RowNumber,
    Random,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum IfExists {
    Refuse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OutcomeWriter {
    Auto,
    Json,
    None,
}

pub fn main(arguments: &Arguments) -> ExitCode {
    match target_of(arguments).and_then(|target| Ok((target, orders_of(arguments)?))) {
        Ok((target, orders)) => work(arguments, &target, &orders),
        Err(message) => {
            eprintln!("contend-load: {message}");
            ExitCode::from(2)
        }
    }
}

fn target_of(arguments: &Arguments) -> Result<Target, String> {
    let timeout = arguments.connect_timeout_s;
    if !(timeout > 0.0 && timeout < 86_400.0) {
        return Err("--connect-timeout-s: give seconds, more than 0".to_owned());
    }
    let server: Server = serde_json::from_value(serde_json::json!({
        "socket": arguments.socket,
        "host": arguments.host,
        "port": arguments.port,
        "password_env": arguments.password_env,
    }))
    .map_err(|error| error.to_string())?;
    let address = address_of(&server)?;
    Ok(Target {
        credentials: Credentials {
            user: arguments.user.clone(),
            password: password_of(&server)?,
        },
        options: Options {
            database: Some(arguments.database.clone()),
            unix_socket: matches!(address, Address::Unix(_)),
            local_infile: true,
            // One order, one statement, whatever stands in the table options.
            multi_statements: false,
            ..Options::default()
        },
        address,
        connect_timeout: Duration::from_nanos(seconds_ns(timeout)),
    })
}

fn orders_of(arguments: &Arguments) -> Result<Vec<Order>, String> {
    let IfExists::Refuse = arguments.if_exists;
    let names = match arguments.tables {
        None => vec![arguments.table.clone()],
        Some(0) => return Err("--tables: 0 tables are none to fill".to_owned()),
        Some(count) => (1..=count)
            .map(|number| format!("{}{number}", arguments.table))
            .collect(),
    };
    let key = match arguments.k {
        Key::RowNumber => KeyColumn::RowNumber,
        Key::Random => KeyColumn::Random(Distribution::Uniform {}),
    };
    let schema = match arguments.schema {
        SchemaName::Sbtest => Schema::Sbtest,
        SchemaName::Sbtest10 => Schema::Sbtest10(Sbtest10::default()),
    };
    let engine = Engine::named(&arguments.engine).map_err(|error| format!("--engine: {error}"))?;
    (1..)
        .zip(names)
        .map(|(number, name)| {
            let table = Table::new(&name, schema, engine.clone(), &arguments.table_options)
                .map_err(|error| format!("--table: {error}"))?;
            table
                .check_rows(arguments.rows)
                .map_err(|error| format!("--rows: {error}"))?;
            let seed = seed_of_table(arguments.seed, number);
            Ok(Order {
                table,
                rows: Rows::new(seed, arguments.rows, &key),
                pipe_folder: arguments.pipe_dir.clone(),
            })
        })
        .collect()
}

fn work(arguments: &Arguments, target: &Target, orders: &[Order]) -> ExitCode {
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    let signals = Signals::listen(move || {
        raised.store(true, Ordering::Relaxed);
        true
    });
    let board = Board::new(arguments, orders);
    let sessions = usize::try_from(arguments.sessions).unwrap_or(usize::MAX);
    let tell = |place, progress| board.tell(place, progress);
    let filled = if arguments.create_database {
        make_database(target).map_err(Trouble::Failed)
    } else {
        Ok(())
    }
    .and_then(|()| fill_tables(target, orders, sessions.max(1), &tell, &stop));
    board.clear();
    drop(signals);
    let (outcome, code) = match &filled {
        Ok(filled) => (
            FillOutcome::FillDone(done(filled, &board)),
            ExitCode::SUCCESS,
        ),
        Err(trouble) => {
            let failure = trouble.failure();
            eprintln!("contend-load: {}", output::in_words(failure));
            let code = match trouble {
                Trouble::Exists(_) => ExitCode::from(2),
                Trouble::Failed(_) | Trouble::Stopped(_) => ExitCode::FAILURE,
            };
            (FillOutcome::Error(Failure::clone(failure)), code)
        }
    };
    match write(&outcome) {
        Ok(()) => code,
        Err(error) => output::failed(&error),
    }
}

fn write(outcome: &FillOutcome) -> io::Result<()> {
    output::line(&serde_json::to_string(outcome)?)
}

fn done(filled: &[Filled], board: &Board) -> FillDone {
    let hex = |sum: u64| format!("{sum:016x}");
    let slow = filled
        .iter()
        .filter(|table| table.keys_by_sort == Some(false));
    FillDone {
        rows: filled.iter().map(|table| table.rows).sum(),
        bytes: filled.iter().map(|table| table.bytes).sum(),
        seconds: board.begun.elapsed().as_secs_f64(),
        checksum: hex(filled
            .iter()
            .fold(0, |sum: u64, table| sum.wrapping_add(table.checksum))),
        server_version: filled
            .first()
            .map(|table| table.server_version.clone())
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

/// Adds up the progress of all tables and shows it.
struct Board {
    tables: Mutex<Vec<Option<Progress>>>,
    rows_total: u64,
    begun: std::time::Instant,
    json: bool,
    human: bool,
}

impl Board {
    fn new(arguments: &Arguments, orders: &[Order]) -> Self {
        let terminal = arguments.progress == OutcomeWriter::Auto && io::stderr().is_terminal();
        Self {
            tables: Mutex::new(vec![None; orders.len()]),
            rows_total: orders.iter().map(|order| order.rows.count()).sum(),
            begun: std::time::Instant::now(),
            json: arguments.progress == OutcomeWriter::Json,
            human: terminal,
        }
    }

    fn tell(&self, place: usize, progress: Progress) {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = tables.get_mut(place) {
            *slot = Some(progress);
        }
        let all = self.sum(&tables);
        // Told with the lock held, so that lines come in order.
        if self.json {
            // If nobody reads, the last line says so.
            let _ = write(&FillOutcome::FillProgress(all));
        } else if self.human {
            eprint!("\r\x1b[K{}", in_words(&all));
            let _ = io::stderr().flush();
        }
    }

    fn clear(&self) {
        if self.human {
            eprint!("\r\x1b[K");
        }
    }

    fn sum(&self, tables: &[Option<Progress>]) -> FillProgress {
        let told = || tables.iter().flatten();
        let count = |phase| told().filter(|table| table.phase == phase).count();
        let phase = if count(FillPhase::Done) == tables.len() {
            FillPhase::Done
        } else if count(FillPhase::Done) + count(FillPhase::Keys) == tables.len() {
            FillPhase::Keys
        } else {
            FillPhase::Load
        };
        FillProgress {
            phase: phase.name().to_owned(),
            rows: told().map(|table| table.rows).sum(),
            rows_total: self.rows_total,
            bytes: told().map(|table| table.bytes).sum(),
            elapsed_s: self.begun.elapsed().as_secs_f64(),
        }
    }
}

fn in_words(progress: &FillProgress) -> String {
    let FillProgress {
        phase,
        rows,
        rows_total,
        elapsed_s,
        ..
    } = progress;
    if phase != FillPhase::Load.name() {
        return format!("{rows} rows loaded, making keys, {elapsed_s:.0} s so far");
    }
    let rate = if *elapsed_s > 0.0 {
        *rows as f64 / elapsed_s
    } else {
        0.0
    };
    let share = 100.0 * *rows as f64 / (*rows_total).max(1) as f64;
    let left_s = (rows_total - rows.min(rows_total)) as f64 / rate.max(1.0);
    format!("{rows} of {rows_total} rows ({share:.0} %), {rate:.0} rows/s, {left_s:.0} s left")
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
        assert!(parse("--socket /s").is_err());
        assert!(parse("--socket /s --rows 10 --if-exists drop").is_err());
    }

    #[test]
    fn several_tables_are_numbered_and_differ() {
        let arguments = parse("--host h --rows 5 --tables 3 --schema sbtest-1.0").unwrap();
        let orders = orders_of(&arguments).unwrap();
        let names: Vec<&str> = orders.iter().map(|order| order.table.name()).collect();
        assert_eq!(names, ["sbtest1", "sbtest2", "sbtest3"]);
        let first_rows = |order: &Order| {
            let mut text = Vec::new();
            order.rows.append(&mut text, 1..2);
            text
        };
        assert_ne!(first_rows(&orders[0]), first_rows(&orders[1]));
    }

    #[test]
    fn what_cannot_be_is_refused_before_the_server_is_asked() {
        let refused = |words| orders_of(&parse(words).unwrap()).unwrap_err();
        assert!(refused("--host h --rows 5 --tables 0").contains("--tables"));
        assert!(refused("--host h --rows 5000000000").contains("--rows"));
        assert!(refused("--host h --rows 5 --engine x;y").contains("--engine"));
        let timeout = parse("--socket /s --rows 5 --connect-timeout-s 0").unwrap();
        assert!(target_of(&timeout).is_err());
        let password = parse("--socket /s --rows 5 --password-env NOT_SET_AT_ALL").unwrap();
        assert!(target_of(&password).unwrap_err().contains("NOT_SET_AT_ALL"));
    }

    #[test]
    fn progress_of_all_tables_adds_up_and_names_the_slowest_phase() {
        let arguments = parse("--host h --rows 10 --tables 2 --progress none").unwrap();
        let board = Board::new(&arguments, &orders_of(&arguments).unwrap());
        let at = |phase, rows| {
            Some(Progress {
                phase,
                rows,
                bytes: rows * 190,
                elapsed: Duration::ZERO,
            })
        };
        let sum = board.sum(&[at(FillPhase::Keys, 10), None]);
        assert_eq!(
            (sum.phase.as_str(), sum.rows, sum.rows_total),
            ("load", 10, 20)
        );
        assert_eq!(
            board
                .sum(&[at(FillPhase::Keys, 10), at(FillPhase::Done, 10)])
                .phase,
            "keys"
        );
        assert_eq!(
            board
                .sum(&[at(FillPhase::Done, 10), at(FillPhase::Done, 10)])
                .phase,
            "done"
        );
        assert!(in_words(&sum).starts_with("10 of 20 rows (50 %)"));
    }
}
