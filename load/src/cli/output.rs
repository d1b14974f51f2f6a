//! Lines to standard output. A reader that has gone away ends the program quietly, not with a
//! panic.

use crate::outcome::{Failure, Outcome};
use crate::stand::null_server::Listening;
use rustix::stdio::dup2_stdout;
use serde_json::json;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::sync::OnceLock;

/// Standard output as it was, where [`keep_from_scripts`] has put it aside.
static KEPT: OnceLock<File> = OnceLock::new();

/// Writes one line and hands it over at once: a reader follows the run as it goes.
pub fn line(text: &str) -> io::Result<()> {
    match KEPT.get() {
        Some(kept) => write_line(&mut &*kept, text),
        None => write_line(&mut io::stdout().lock(), text),
    }
}

fn write_line(out: &mut dyn Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// From here on standard output is ours alone: what scripts print goes to standard error.
pub fn keep_from_scripts() -> io::Result<()> {
    let kept = io::stdout().as_fd().try_clone_to_owned()?;
    dup2_stdout(io::stderr())?;
    // It is set once: nobody calls this twice.
    let _ = KEPT.set(File::from(kept));
    Ok(())
}

/// Writes an outcome as one line.
pub fn outcome(outcome: &Outcome) -> io::Result<()> {
    line(&serde_json::to_string(outcome)?)
}

/// Says where clients can come in.
pub fn listening(listening: &Listening) {
    let said = json!({
        "type": "listening",
        "pid": std::process::id(),
        "socket": listening.socket,
        "port": listening.port,
    });
    // Who does not read it waits for the socket instead.
    let _ = line(&said.to_string());
}

/// Prints a text that is the whole output of a command.
pub fn whole(text: &str) -> ExitCode {
    match line(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

/// Writes something long to standard output, as it comes.
pub fn stream(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    write(&mut io::stdout().lock())
}

/// Standard output does not take what we say.
pub fn failed(error: &io::Error) -> ExitCode {
    if error.kind() != io::ErrorKind::BrokenPipe {
        eprintln!("contend-load: writing to standard output: {error}");
    }
    ExitCode::FAILURE
}

/// Says why something failed, to programs and to people.
pub fn run_failed(failure: Failure) -> ExitCode {
    eprintln!("contend-load: {}", in_words(&failure));
    match outcome(&Outcome::Error(failure)) {
        Ok(()) => ExitCode::FAILURE,
        Err(error) => failed(&error),
    }
}

/// A failure for people.
pub fn in_words(failure: &Failure) -> String {
    let mut words = failure.message.clone();
    if let Some(statement) = &failure.statement {
        words.push_str(&format!("\n  statement: {statement}"));
    }
    if let Some(hint) = &failure.hint {
        words.push_str(&format!("\n  hint: {hint}"));
    }
    words
}
