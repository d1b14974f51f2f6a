//! `contend-load recording`: logs of servers as recordings of their statements.

mod ask;

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use contend_console::output::{self, CommandError};
use contend_figures::outcome::Failure;
use contend_random::Stream;
use contend_recording::formats::LogFormat;
use contend_recording::{
    Imported, Importer, LogError, LogInput, RecordingContents, RecordingFile, StoredStatement,
    TemplateRow, spread,
};
use contend_sql::Mode;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Read logs of a server into a recording, and show its content.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: RecordingCommand,
}

#[derive(Debug, Subcommand)]
enum RecordingCommand {
    Import(ImportArguments),
    Show(ShowArguments),
    Statement(StatementArguments),
    Ask(ask::Arguments),
}

/// Make a recording of one or more log files. The statements that can be sent again are in it; the
/// others are counted by reason. Statements that may hold passwords of accounts are not read in.
#[derive(Debug, clap::Args)]
struct ImportArguments {
    /// Files of one log, in their order; plain, or compressed by gzip or zstd. - is standard input.
    #[arg(required = true)]
    files: Vec<String>,
    /// Where the recording goes.
    #[arg(long, value_name = "PATH")]
    to: PathBuf,
    /// Format of the log. Default: the one that its beginning looks like.
    #[arg(long, value_parser = format_names())]
    format: Option<String>,
    /// The server's `sql_mode` has NO_BACKSLASH_ESCAPES.
    #[arg(long)]
    no_backslash_escapes: bool,
    /// The server's `sql_mode` has ANSI_QUOTES.
    #[arg(long)]
    ansi_quotes: bool,
    /// Print progress as JSON lines.
    #[arg(long)]
    progress: bool,
}

/// Print what a recording holds, as one line of JSON.
#[derive(Debug, clap::Args)]
struct ShowArguments {
    path: PathBuf,
}

/// Print statements of a recording with their values, as one line of JSON each.
#[derive(Debug, clap::Args)]
struct StatementArguments {
    path: PathBuf,
    /// Number of one statement.
    #[arg(long, value_name = "N", required_unless_present = "template")]
    number: Option<u64>,
    /// Number of a template.
    #[arg(long, value_name = "N", conflicts_with = "number")]
    template: Option<u32>,
    /// Statements of the template, spread over the period. Default: all.
    #[arg(long, value_name = "K", requires = "template")]
    sample: Option<u64>,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn format_names() -> PossibleValuesParser {
    PossibleValuesParser::new(LogFormat::ALL.map(|(name, _)| name))
}

pub fn main(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    match &arguments.command {
        RecordingCommand::Import(arguments) => match import(arguments) {
            Ok(done) => output::whole_json(&done),
            Err(error) if error.is_request => {
                output::run_failed(failure(error))?;
                Ok(ExitCode::from(2))
            }
            Err(error) => output::run_failed(failure(error)),
        },
        RecordingCommand::Show(arguments) => {
            output::whole_json(&show(&arguments.path).map_err(failure)?)
        }
        RecordingCommand::Statement(arguments) => statements(arguments),
        RecordingCommand::Ask(arguments) => ask::main(arguments),
    }
}

fn failure(error: LogError) -> Failure {
    Failure {
        hint: error.hint,
        ..Failure::plain(error.message)
    }
}

/// Interval between progress lines.
const PROGRESS: Duration = Duration::from_millis(500);

fn import(arguments: &ImportArguments) -> Result<Value, LogError> {
    let begun = Instant::now();
    let mode = Mode {
        no_backslash_escapes: arguments.no_backslash_escapes,
        ansi_quotes: arguments.ansi_quotes,
        ..Mode::default()
    };
    let mut inputs = arguments.files.iter().peekable();
    let first = match inputs.peek() {
        Some(path) => LogInput::open(path)?,
        None => return Err(LogError::new("no file is named")),
    };
    let named = LogFormat::ALL
        .into_iter()
        .find(|(name, _)| arguments.format.as_deref() == Some(*name));
    let format = format_of(&first, named.map(|(_, format)| format))?;
    let mut reader = format.reader(mode);
    let mut importer = Importer::new(&arguments.to, mode)?;
    let mut end = 0;
    let mut told = Instant::now();
    let mut next = Some(first);
    let _ = inputs.next();
    while let Some(input) = next {
        if end > 0 {
            format_of(&input, Some(format))?;
            importer.next_file()?;
        }
        let importer = std::cell::RefCell::new(&mut importer);
        end = input.read(
            &mut *reader,
            end,
            &mut |entry| importer.borrow_mut().take(entry),
            &mut |bytes| {
                if !arguments.progress || told.elapsed() < PROGRESS {
                    return Ok(());
                }
                told = Instant::now();
                let line = json!({
                    "type": "recording_progress",
                    "log_bytes": bytes,
                    "statements": importer.borrow().statements(),
                    "elapsed_s": begun.elapsed().as_secs_f64(),
                });
                output::line(&line.to_string()).map_err(|error| LogError::new(error.to_string()))
            },
        )?;
        next = inputs.next().map(|path| LogInput::open(path)).transpose()?;
    }
    if !importer.has_entries() {
        let message = format!("the log has no entry of format {}", format.name());
        return Err(LogError::new(message).of_request());
    }
    let done = importer.finish(format.name(), end, &*reader)?;
    Ok(outcome(&done, begun.elapsed()))
}

/// The format of a log: the one that was named, if it looks like that, or the one it looks like.
fn format_of(input: &LogInput, named: Option<LogFormat>) -> Result<LogFormat, LogError> {
    let name = input.name();
    if input.beginning().is_empty() {
        return Err(LogError::new(format!("{name} is empty")).of_request());
    }
    let seen = LogFormat::of_beginning(input.beginning());
    let format = match (named, seen) {
        (Some(named), Some(seen)) if named != seen => Err(LogError::with_hint(
            format!(
                "{name} is not a log of format {}: it looks like {}",
                named.name(),
                seen.name()
            ),
            format!("use --format {}", seen.name()),
        )),
        (Some(format), _) | (None, Some(format)) => Ok(format),
        (None, None) => Err(LogError::with_hint(
            format!("{name} does not look like a log of any known format"),
            "name its format with --format",
        )),
    };
    format.map_err(LogError::of_request)
}

fn outcome(done: &Imported, elapsed: Duration) -> Value {
    let mut line = summary(&done.contents);
    line.insert("type".to_owned(), json!("recording_done"));
    line.insert("recording".to_owned(), json!(done.name));
    line.insert("bytes".to_owned(), json!(done.bytes));
    line.insert("elapsed_s".to_owned(), json!(elapsed.as_secs_f64()));
    Value::Object(line)
}

/// What all statements together are.
fn summary(contents: &RecordingContents) -> Map<String, Value> {
    let summary = json!({
        "format": contents.format,
        "statements": contents.statements,
        "reads": contents.reads,
        "sessions": contents.sessions,
        "templates": contents.templates.len(),
        "begin_us": contents.period_us.map(|period| period.0),
        "end_us": contents.period_us.map(|period| period.1),
        "stamps": {
            "exact": contents.exact_stamps,
            "interpolated": contents.interpolated_stamps,
            "false": contents.false_stamps,
            "clock_set_back": contents.clock_set_back,
        },
        "left_out": contents.left_out,
        "warnings": contents.warnings,
        "skipped_bytes": contents.skipped_bytes,
        "log_bytes": contents.log_bytes,
    });
    match summary {
        Value::Object(summary) => summary,
        _ => Map::new(),
    }
}

fn show(path: &Path) -> Result<Value, LogError> {
    let recording = RecordingFile::open(path)?;
    let contents = &recording.contents;
    let mut line = summary(contents);
    line.insert("type".to_owned(), json!("recording"));
    line.insert("recording".to_owned(), json!(recording.name));
    line.insert("bytes".to_owned(), json!(recording.bytes()));
    line.insert("databases".to_owned(), json!(contents.databases));
    let mut rows: Vec<_> = contents.templates.iter().enumerate().collect();
    rows.sort_by_key(|(number, row)| (std::cmp::Reverse((row.total_us, row.calls)), *number));
    let rows = rows.into_iter().map(|(number, row)| template(number, row));
    line.insert("templates".to_owned(), rows.collect());
    Ok(Value::Object(line))
}

fn template(number: usize, row: &TemplateRow) -> Value {
    let mean = |sum: u64, count: u64| (count > 0).then(|| sum as f64 / count as f64);
    json!({
        "template": number,
        "hash": row.hash,
        "text": row.text,
        "read": row.is_read,
        "calls": row.calls,
        "errors": row.errors,
        "timed_calls": row.timed,
        "total_us": row.total_us,
        "mean_us": mean(row.total_us, row.timed),
        "p50_us": row.times.quantile_us(0.5),
        "p99_us": row.times.quantile_us(0.99),
        "rows_sent_mean": mean(row.rows_sent.0, row.rows_sent.1),
        "rows_examined_mean": mean(row.rows_examined.0, row.rows_examined.1),
    })
}

fn statements(arguments: &StatementArguments) -> Result<ExitCode, CommandError> {
    let mut recording = RecordingFile::open(&arguments.path).map_err(failure)?;
    let databases = recording.contents.databases.clone();
    let mut count = 0_u64;
    let mut written = Ok(());
    let mut print = |number: u64, statement: StoredStatement<'_>| {
        count += 1;
        if written.is_ok() {
            written = output::line(&instance(number, &statement, &databases).to_string());
        }
    };
    let read = match (arguments.number, arguments.template) {
        (Some(number), _) => recording.one(number, &mut print),
        (None, template) => {
            let number = template.unwrap_or_default();
            let row = recording.contents.templates.get(number as usize);
            let calls = row.map_or(0, |row| row.calls);
            let wanted = arguments.sample.unwrap_or(calls);
            let places = spread(calls, wanted, &mut Stream::new(arguments.seed, 0));
            recording.of_template(number, &places, &mut print)
        }
    };
    read.map_err(failure)?;
    written?;
    if count > 0 || arguments.sample == Some(0) {
        return Ok(ExitCode::SUCCESS);
    }
    let limit = match arguments.number {
        Some(number) => format!(
            "--number {number}: the recording has {} statements, numbered from 0",
            recording.contents.statements
        ),
        None => format!(
            "--template {}: the recording has {} templates, numbered from 0",
            arguments.template.unwrap_or_default(),
            recording.contents.templates.len()
        ),
    };
    Err(limit.into())
}

fn instance(number: u64, statement: &StoredStatement<'_>, databases: &[String]) -> Value {
    json!({
        "type": "recorded_statement",
        "number": number,
        "template": statement.template,
        "session": statement.session,
        "database": databases.get(statement.database as usize),
        "begin_us": statement.begin_us,
        "interpolated": statement.is_interpolated,
        "read": statement.is_read,
        "took_us": statement.took_us,
        "rows_sent": statement.rows_sent,
        "rows_examined": statement.rows_examined,
        "rows_affected": statement.rows_affected,
        "error": statement.error,
        "timestamp_us": statement.timestamp_us,
        "insert_id": statement.insert_id,
        "last_insert_id": statement.last_insert_id,
        "no_backslash_escapes": statement.no_backslash_escapes,
        "ansi_quotes": statement.ansi_quotes,
        "log_offset": statement.offset,
        "text": contend_recording::latin1(statement.text),
    })
}
