//! Lines to standard output. A reader that has gone away ends the program quietly, not with a
//! panic.

use super::secrets;
use contend_figures::outcome::{Failure, Outcome, one_line, shown};
use rustix::stdio::dup2_stdout;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd as _, AsRawFd as _, RawFd};
use std::process::ExitCode;
use std::sync::OnceLock;

/// The original standard output, if [`keep_from_scripts`] has put it aside.
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

/// From here on standard output is ours alone: output of scripts goes to standard error.
pub fn keep_from_scripts() -> io::Result<()> {
    let kept = io::stdout().as_fd().try_clone_to_owned()?;
    dup2_stdout(io::stderr())?;
    // It is set once: there is only one call.
    let _ = KEPT.set(File::from(kept));
    Ok(())
}

/// The descriptor that lines for programs are written to.
pub fn descriptor() -> RawFd {
    KEPT.get().map_or(io::stdout().as_raw_fd(), File::as_raw_fd)
}

/// A report may go into a pipe that its reader closes early: from here on the program then ends
/// quietly, as programs in C do. To be called before any thread exists.
pub fn end_with_the_pipe() {
    // SAFETY: sets the disposition of a signal. Sockets are written without raising this signal.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}

/// Writes an outcome as one line.
pub fn outcome(outcome: &Outcome) -> io::Result<()> {
    line(&serde_json::to_string(outcome)?)
}

/// Prints a text that is the whole output of a command.
pub fn whole(text: &str) -> Result<ExitCode, CommandError> {
    line(text)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the whole output of a command, as one line of JSON.
pub fn whole_json(answer: &impl Serialize) -> Result<ExitCode, CommandError> {
    whole(&serde_json::to_string(answer).map_err(io::Error::from)?)
}

/// Writes something long to standard output, as it comes.
pub fn stream(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    write(&mut io::stdout().lock())
}

/// Prints a line on standard error. Every text that may come from a script or a server goes this
/// way.
pub fn remark(words: &str) {
    eprintln!("{}", shown(words));
}

/// Why a command failed.
#[derive(Debug)]
pub enum CommandError {
    /// The request was wrong.
    Wrong(String),
    Failed(Failure),
    /// Standard output cannot be written.
    Unwritten(io::Error),
}

impl CommandError {
    /// Prints it on standard error; the exit code.
    pub fn print(&self) -> ExitCode {
        match self {
            Self::Wrong(words) => {
                remark(&format!("contend-load: {}", secrets::hidden(words)));
                return ExitCode::from(2);
            }
            Self::Failed(failure) => remark(&format!("contend-load: {}", in_words(failure))),
            // The reader that closed the pipe early knows.
            Self::Unwritten(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Self::Unwritten(error) => {
                remark(&format!(
                    "contend-load: writing to standard output: {error}"
                ));
            }
        }
        ExitCode::FAILURE
    }
}

impl From<String> for CommandError {
    fn from(words: String) -> Self {
        Self::Wrong(words)
    }
}

impl From<Failure> for CommandError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::Unwritten(error)
    }
}

/// Prints why something failed, on standard output for programs and on standard error.
pub fn run_failed(failure: Failure) -> Result<ExitCode, CommandError> {
    remark(&format!("contend-load: {}", in_words(&failure)));
    outcome(&Outcome::Error(failure))?;
    Ok(ExitCode::FAILURE)
}

/// A quotient; 0 if there is nothing to divide by.
pub fn ratio(part: f64, of: f64) -> f64 {
    if of > 0.0 { part / of } else { 0.0 }
}

/// A failure for people.
pub fn in_words(failure: &Failure) -> String {
    let mut words = one_line(&failure.message).into_owned();
    if let Some(statement) = &failure.statement {
        words.push_str(&format!("\n  statement: {}", one_line(statement)));
    }
    if let Some(hint) = &failure.hint {
        words.push_str(&format!("\n  hint: {hint}"));
    }
    words
}
