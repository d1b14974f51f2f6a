//! Asks for a password on the terminal.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};

/// Asks on the terminal, or on standard error and input where there is none.
///
/// # Errors
/// No answer comes.
pub fn ask() -> io::Result<String> {
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
