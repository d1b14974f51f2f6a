//! A script as a workload of the driver: each of its threads is one session.

use super::fiber::Fiber;
use super::run::Run;
use super::thread::Duty;
use crate::outcome::Failure;
use crate::workload::{Seat, Session, Workload};
use std::sync::Arc;

/// The threads of a run, one a seat.
pub struct ScriptWorkload {
    run: Arc<Run>,
    classes: Vec<String>,
}

impl ScriptWorkload {
    pub fn new(run: Arc<Run>) -> Self {
        let classes = ["read", "write", "other"].map(str::to_owned).to_vec();
        Self { run, classes }
    }
}

impl Workload for ScriptWorkload {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn judges_errors(&self) -> bool {
        true
    }

    fn session(&self, seat: Seat) -> Result<Box<dyn Session>, Failure> {
        let run = Arc::clone(&self.run);
        let fiber = Fiber::new(run, seat.index, seat.worker as usize, Duty::Events)?;
        Ok(Box::new(fiber))
    }
}
