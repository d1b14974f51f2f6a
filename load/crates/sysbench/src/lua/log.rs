//! Messages of the script host: lines on standard output, as sysbench writes them.
//!
//! Scripts print through C's `stdout`, so the host does too, unbuffered: the lines of both stay
//! in order. A message that repeats is counted instead of written again.

use contend_figures::outcome::shown;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

/// How grave a message is; `--verbosity` names the least grave one that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Fatal,
    Alert,
    Warning,
    Notice,
    Info,
    Debug,
}

impl Level {
    fn prefix(self) -> &'static str {
        match self {
            Self::Fatal => "FATAL: ",
            Self::Alert => "ALERT: ",
            Self::Warning => "WARNING: ",
            Self::Notice | Self::Info => "",
            Self::Debug => "DEBUG: ",
        }
    }
}

/// The messages of one command line.
#[derive(Debug)]
pub struct Log {
    verbosity: u8,
    last: Mutex<Last>,
    /// The first fatal messages: the runner of a plan's script uses them to report why it failed.
    fatal: Mutex<Vec<String>>,
}

/// A thousand threads may fail for the same reason; the first few explain it.
const FATAL_KEPT: usize = 16;

#[derive(Debug, Default)]
struct Last {
    text: String,
    repeats: u32,
}

impl Log {
    pub fn new(verbosity: u8) -> Self {
        unbuffer_stdout();
        Self {
            verbosity,
            last: Mutex::default(),
            fatal: Mutex::default(),
        }
    }

    /// The first fatal messages, in order.
    pub fn fatal_messages(&self) -> Vec<String> {
        let fatal = self.fatal.lock().unwrap_or_else(PoisonError::into_inner);
        fatal.clone()
    }

    pub fn shows(&self, level: Level) -> bool {
        level as u8 <= self.verbosity
    }

    /// Writes one message, or counts it where it is the last one again.
    pub fn say(&self, level: Level, text: &str) {
        if !self.shows(level) {
            return;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // Words of a server may be in it.
        let line = format!("{}{}\n", level.prefix(), shown(text));
        if last.text == line {
            last.repeats += 1;
            return;
        }
        let mut out = String::new();
        if last.repeats > 0 {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "(last message repeated {} times)", last.repeats);
        }
        out.push_str(&line);
        last.text = line;
        last.repeats = 0;
        write_stdout(&out);
    }

    pub fn fatal(&self, text: &str) {
        let mut fatal = self.fatal.lock().unwrap_or_else(PoisonError::into_inner);
        if fatal.len() < FATAL_KEPT {
            fatal.push(text.to_owned());
        }
        drop(fatal);
        self.say(Level::Fatal, text);
    }

    pub fn notice(&self, text: &str) {
        self.say(Level::Notice, text);
    }

    /// Writes the line of an interval, which is marked with its second and never counted as a
    /// repeated one.
    pub fn stamp(&self, second: f64, digits: usize, text: &str) {
        if self.shows(Level::Notice) {
            write_stdout(&format!("[ {second:.digits$}s ] {text}\n"));
        }
    }
}

/// Writes to C's standard output, in order with what scripts print.
pub fn write_stdout(text: &str) {
    // SAFETY: the pointer and the length are those of `text`; `stdout` is open from the start of
    // the process, and stdio locks it.
    unsafe {
        libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout);
        libc::fflush(stdout);
    }
}

fn unbuffer_stdout() {
    // SAFETY: no buffer is handed over, so none must outlive the call.
    unsafe {
        libc::setvbuf(stdout, std::ptr::null_mut(), libc::_IONBF, 0);
    }
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graver_messages_than_asked_for_are_shown() {
        let log = Log {
            verbosity: 3,
            last: Mutex::default(),
            fatal: Mutex::default(),
        };
        assert!(log.shows(Level::Fatal) && log.shows(Level::Notice));
        assert!(!log.shows(Level::Info) && !log.shows(Level::Debug));
    }

    #[test]
    fn a_message_that_repeats_is_counted() {
        let log = Log {
            verbosity: 3,
            last: Mutex::default(),
            fatal: Mutex::default(),
        };
        for _ in 0..3 {
            log.fatal("again");
        }
        assert_eq!(log.last.lock().map(|last| last.repeats).ok(), Some(2));
        log.fatal("another");
        assert_eq!(log.last.lock().map(|last| last.repeats).ok(), Some(0));
        assert_eq!(log.fatal_messages(), ["again", "again", "again", "another"]);
    }
}
