//! How the seats of a worker become ready, so many at a time, before the load begins.

use super::engine::Engine;
use super::messages::Report;
use super::worker::{Phase, Worker};

/// Connections of one worker that are opened at the same time before the load begins.
const SETUP_AT_ONCE: usize = 64;

impl<E: Engine> Worker<E> {
    /// Begins as many setups as may go on at the same time.
    pub(super) fn begin_setups(&mut self) {
        let at_once = if self.setup.storm {
            usize::MAX
        } else {
            SETUP_AT_ONCE
        };
        while self.phase == Phase::Setup && self.in_setup < at_once {
            let Some(seat) = self.unborn.next() else {
                break;
            };
            self.in_setup += 1;
            self.start(seat);
        }
    }

    /// A seat of the setup is ready.
    pub(super) fn count_ready(&mut self, seat: usize) {
        self.in_setup -= 1;
        if self.in_setup > 0 || !self.unborn.is_empty() {
            return;
        }
        // A script that opens no connection has no server either.
        let tokens = self.seats.get(seat).map(|seat| seat.tokens.as_slice());
        let links = tokens.unwrap_or_default().iter();
        let facts = links
            .filter_map(|token| self.links.get(*token)?.link.facts())
            .collect();
        let connects = self.tally.connect.take();
        self.report(Report::Ready { facts, connects });
    }

    /// All seats of all workers are ready.
    pub(super) fn end_setup(&mut self) {
        // Each connection and each statement of the setup had an alarm, in case that the server is
        // silent. All of them would ring inside the window, for nobody.
        self.timers.clear();
    }
}
