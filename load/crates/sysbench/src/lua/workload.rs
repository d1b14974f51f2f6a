//! A script as a workload of the driver: each of its threads is one session.

use super::fiber::Fiber;
use super::run::Run;
use super::stopping;
use contend_engine::workload::{EventKind, SeatPlace, Session, Workload};
use contend_figures::Reading;
use contend_figures::outcome::Failure;
use std::sync::Arc;

/// The threads of a run, one per seat.
pub struct ScriptWorkload {
    run: Arc<Run>,
    kinds: Vec<EventKind>,
}

impl ScriptWorkload {
    pub fn new(run: Arc<Run>) -> Self {
        let kinds = EventKind::only("event", &["read", "write", "other"]);
        Self { run, kinds }
    }
}

impl Workload for ScriptWorkload {
    fn kinds(&self) -> &[EventKind] {
        &self.kinds
    }

    fn classes(&self) -> &[String] {
        self.kinds.first().map_or(&[], |kind| &kind.classes)
    }

    fn judges_errors(&self) -> bool {
        true
    }

    fn read_counts(&self, seats: &mut dyn Iterator<Item = u32>) -> Vec<(u32, Reading)> {
        let read = |seat| (seat, self.run.figures.of(seat).read());
        seats.map(read).collect()
    }

    fn stop(&self) -> bool {
        stopping::stop(&self.run.states);
        true
    }

    fn session(&self, seat: SeatPlace) -> Result<Box<dyn Session>, Failure> {
        let run = Arc::clone(&self.run);
        let fiber = Fiber::new(run, seat.index)?;
        Ok(Box::new(fiber))
    }
}
