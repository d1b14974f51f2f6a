//! The progress of an iteration, on the last line of a terminal.

use contend_engine::measured::Progress as Told;
use std::io::{IsTerminal as _, Write as _};

/// Says so on standard error, if that is a terminal.
#[derive(Debug)]
pub struct SlapProgress {
    shows: bool,
    what: String,
    statements: u64,
    is_said: bool,
}

impl SlapProgress {
    pub fn new(is_silent: bool) -> Self {
        Self {
            shows: !is_silent && std::io::stderr().is_terminal(),
            what: String::new(),
            statements: 0,
            is_said: false,
        }
    }

    /// Another iteration begins.
    pub fn begin(&mut self, what: String) {
        self.what = what;
        self.statements = 0;
    }

    pub fn take(&mut self, told: &Told<'_>) {
        let Told::Interval {
            start_s,
            duration_s,
            tally,
            ..
        } = told
        else {
            return;
        };
        self.statements += tally.events();
        if self.shows {
            let rate = tally.events() as f64 / duration_s.max(f64::MIN_POSITIVE);
            let (what, statements, at_s) = (&self.what, self.statements, start_s + duration_s);
            eprint!("\r\x1b[K{what}: {at_s:.0} s, {statements} statements, {rate:.0} per second");
            self.is_said = true;
            let _ = std::io::stderr().flush();
        }
    }

    /// Clears the line.
    pub fn end(&mut self) {
        if std::mem::take(&mut self.is_said) {
            eprint!("\r\x1b[K");
        }
    }
}
