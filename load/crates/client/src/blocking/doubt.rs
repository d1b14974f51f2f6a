//! Whether a server that does not end its answer still lives: it is asked over a second connection.

use super::{BlockingLink, Broken, endless};
use crate::Target;
use crate::dialect::Heard;
use crate::failure::LOST;
use crate::request::Reply;
use contend_figures::outcome::Failure;
use contend_wire::WireError;
use contend_wire::mysql::command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After this time without the end of an answer.
const AFTER: Duration = Duration::from_secs(5);
const AGAIN_AFTER: Duration = Duration::from_secs(30);
/// For a login and an answer.
const ALIVE: Duration = Duration::from_secs(4);

/// The doubt during one answer.
pub(super) struct Doubt {
    target: Arc<Target>,
    due: Instant,
}

impl Doubt {
    pub(super) fn new(target: Arc<Target>) -> Self {
        Self {
            target,
            due: Instant::now() + AFTER,
        }
    }

    /// Asks, if it is time to.
    ///
    /// # Errors
    /// The server does not answer there either.
    pub(super) fn look(&mut self) -> Result<(), Failure> {
        if Instant::now() < self.due {
            return Ok(());
        }
        if !is_alive(&self.target) {
            return Err(Failure {
                code: Some(LOST),
                ..Failure::plain(format!(
                    "the server at {} did not answer within {} s, nor does it answer on another \
                     connection",
                    self.target.address,
                    AFTER.as_secs()
                ))
            });
        }
        self.due = Instant::now() + AGAIN_AFTER;
        Ok(())
    }
}

/// Whether it accepts a login and answers, or refuses that with a message.
fn is_alive(target: &Target) -> bool {
    let limit = Instant::now() + ALIVE;
    let target = Target {
        connect_timeout: ALIVE,
        ..target.clone()
    };
    let asked = BlockingLink::open(&target).and_then(|mut link| answers_by(&mut link, limit));
    // Too many connections, for example.
    matches!(asked, Ok(()) | Err(Broken::Wire(WireError::Refused(_))))
}

fn answers_by(link: &mut BlockingLink, limit: Instant) -> Result<(), Broken> {
    let write = |out: &mut Vec<u8>| command::query(out, b"SELECT 1");
    link.ask(Reply::Counts, write, &mut endless)?;
    link.hear_by(limit, |heard| matches!(heard, Heard::Answered(_)))
}
