//! Lines to standard output. A reader that has gone away ends the program quietly, not with a
//! panic.

use std::io::{self, Write};
use std::process::ExitCode;

/// Writes one line and hands it over at once: a reader follows the run as it goes.
pub fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Prints a text that is the whole output of a command.
pub fn whole(text: &str) -> ExitCode {
    match line(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

/// Standard output does not take what we say.
pub fn failed(error: &io::Error) -> ExitCode {
    if error.kind() != io::ErrorKind::BrokenPipe {
        eprintln!("contend-load: writing to standard output: {error}");
    }
    ExitCode::FAILURE
}
