//! The rows' way to the server: over the connection, or through a named pipe.

use super::generator::Parts;
use super::pipe::NamedPipe;
use super::watch::{FillPhase, LoadWatch};
use crate::{Content, Recipe, RowsFrom};
use contend_client::blocking::{ControlConnection, PATIENCE_ASKED_EVERY};
use contend_figures::outcome::Failure;
use contend_reactor::wait::any_ready;
use contend_wire::Summary;
use rustix::event::{PollFd, PollFlags};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

/// Interval of checks whether the server has opened the pipe: it does so at once.
const OPENED_YET_EVERY: Duration = Duration::from_micros(500);

/// How the rows came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Local,
    Pipe,
}

impl Transport {
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Pipe => "pipe",
        }
    }
}

/// Sends all rows; through a pipe where a folder for one is given and the server takes it.
///
/// # Errors
/// The server does not take them, or the watch ended the load.
pub fn load(
    connection: &mut ControlConnection,
    recipe: &Recipe,
    content: &dyn Content,
    pipe_folder: Option<&Path>,
    watch: &LoadWatch<'_>,
) -> Result<(Summary, Transport), Failure> {
    if let Some(folder) = pipe_folder
        && let Some(summary) = through_pipe(connection, recipe, content, folder, watch)?
    {
        return Ok((summary, Transport::Pipe));
    }
    over_connection(connection, recipe, content, content.numbers(), watch)
        .map(|summary| (summary, Transport::Local))
}

/// Sends the rows of a range of numbers as a local file.
///
/// # Errors
/// As [`load`].
pub fn over_connection(
    connection: &mut ControlConnection,
    recipe: &Recipe,
    content: &dyn Content,
    numbers: Range<u64>,
    watch: &LoadWatch<'_>,
) -> Result<Summary, Failure> {
    std::thread::scope(|scope| {
        let mut parts = Parts::begin(content, numbers, scope).map_err(|error| no_thread(&error))?;
        connection.load_local(
            &recipe.load(RowsFrom::Local),
            &mut |packet| {
                watch.go_on()?;
                match parts.next_part() {
                    Some(part) => {
                        packet.extend_from_slice(&part.text);
                        watch.sent(&part);
                        parts.recycle(part.text);
                    }
                    None => watch.enter(FillPhase::Keys),
                }
                Ok(())
            },
            &mut |waited| watch.ask(waited),
        )
    })
}

/// None if the server would not read the pipe: it has taken no row then.
fn through_pipe(
    connection: &mut ControlConnection,
    recipe: &Recipe,
    content: &dyn Content,
    folder: &Path,
    watch: &LoadWatch<'_>,
) -> Result<Option<Summary>, Failure> {
    let pipe = NamedPipe::make(folder).map_err(|error| {
        Failure::plain(format!(
            "cannot make a named pipe in {}: {error}",
            folder.display()
        ))
    })?;
    let Some(path) = pipe.path() else {
        // A statement cannot name it.
        return Ok(None);
    };
    let sql = recipe.load(RowsFrom::Pipe(path));
    let patience = &mut |waited| watch.ask(waited);
    connection.begin(&sql, patience)?;
    let Some(out) = opened(connection, &pipe, watch)? else {
        return match connection.end(&sql, patience) {
            Err(refused) if refused.statement.is_none() => Err(refused),
            _ => Ok(None),
        };
    };
    std::thread::scope(|scope| {
        let mut parts =
            Parts::begin(content, content.numbers(), scope).map_err(|error| no_thread(&error))?;
        while let Some(part) = parts.next_part() {
            watch.go_on()?;
            if !write(&out, &part.text, connection, watch)? {
                break;
            }
            watch.sent(&part);
            parts.recycle(part.text);
        }
        // Closing the pipe is what ends the file.
        drop(out);
        watch.enter(FillPhase::Keys);
        connection
            .end(&sql, &mut |waited| watch.ask(waited))
            .map(Some)
    })
}

/// The pipe's writing end, as soon as the server has opened the other; none if it answers
/// instead.
fn opened(
    connection: &ControlConnection,
    pipe: &NamedPipe,
    watch: &LoadWatch<'_>,
) -> Result<Option<File>, Failure> {
    let since = Instant::now();
    loop {
        let opened = pipe
            .open()
            .map_err(|error| Failure::plain(format!("cannot open the named pipe: {error}")))?;
        if opened.is_some() {
            return Ok(opened);
        }
        if connection.has_spoken(OPENED_YET_EVERY) {
            return Ok(None);
        }
        watch.ask(since.elapsed())?;
    }
}

/// Writes all bytes; false if the server stops reading, and its answer has the reason.
fn write(
    mut out: &File,
    bytes: &[u8],
    connection: &ControlConnection,
    watch: &LoadWatch<'_>,
) -> Result<bool, Failure> {
    let mut both = [
        PollFd::new(out, PollFlags::OUT),
        PollFd::new(connection, PollFlags::IN),
    ];
    let mut since = Instant::now();
    let mut rest = bytes;
    while !rest.is_empty() {
        match out.write(rest) {
            Ok(written) => {
                rest = rest.get(written..).unwrap_or_default();
                since = Instant::now();
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if !any_ready(&mut both, PATIENCE_ASKED_EVERY) {
                    watch.ask(since.elapsed())?;
                } else if connection.has_spoken(Duration::ZERO) {
                    return Ok(false);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(false),
            Err(error) => {
                return Err(Failure::plain(format!(
                    "writing to the named pipe: {error}"
                )));
            }
        }
    }
    Ok(true)
}

/// The thread that makes rows cannot be started.
pub fn no_thread(error: &std::io::Error) -> Failure {
    Failure::plain(format!("starting the thread that makes rows: {error}"))
}
