//! The description of a kind of workload: its keys in a plan, and what becomes of them.

use super::native::{Kind, Native, Way};
use contend_engine::workload::Workload;
use contend_plan::{Load, Script};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// The plan's workload, read and checked.
pub trait WorkloadConfig {
    /// The workload.
    ///
    /// # Errors
    /// An error that only shows when it is made, as text that names the path.
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String>;

    /// The largest key, if every event asks for one between 1 and this.
    fn keys(&self) -> Option<u64> {
        None
    }

    /// Checks that the load suits it, and limits it if the workload has an end.
    ///
    /// # Errors
    /// Words that name the path.
    fn fit(&self, _load: &mut Load) -> Result<(), String> {
        Ok(())
    }

    /// It is a script of the host for them, and no native workload.
    fn script(&self) -> Option<&Script> {
        None
    }
}

/// The keys of a kind, as its file declares them.
pub trait Keys: WorkloadConfig + DeserializeOwned + JsonSchema + 'static {
    /// As plans name it.
    const KIND: &'static str;
    /// Whether its events change the tables' rows; none: that depends on its keys.
    const WRITES: Option<bool>;
    /// The metric of the lab if an experiment names none. Queries per second are right for events
    /// of one query: those of a transaction before its rollback would count too.
    const METRIC: &'static str = "qps";

    /// Checks beyond the ranges of single keys.
    ///
    /// # Errors
    /// Words that name the path.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// The metric of events that ended well, whole transactions among them.
pub const EVENTS: &str = "events_per_s";

/// A kind as a workload.
pub fn native(kind: impl Kind, way: Way) -> Arc<dyn Workload> {
    Arc::new(Native::new(kind, way))
}

/// A sysbench script: the script host runs it.
impl Keys for Script {
    const KIND: &'static str = "lua";
    const WRITES: Option<bool> = None;
    const METRIC: &'static str = EVENTS;
}

impl WorkloadConfig for Script {
    fn build(&self, _way: Way) -> Result<Arc<dyn Workload>, String> {
        Err("workload: a script was not read".to_owned())
    }

    fn fit(&self, load: &mut Load) -> Result<(), String> {
        if load.hosts > 1 {
            return Err(
                "load.hosts: a script numbers the threads of one process; use a single host"
                    .to_owned(),
            );
        }
        if load.reconnect_every.is_some() {
            return Err(
                "load.reconnect_every: a script opens and closes its own connections; remove it"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn script(&self) -> Option<&Script> {
        Some(self)
    }
}
