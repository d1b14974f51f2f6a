//! A sysbench script: only what a plan says of it. The script host runs it.

use super::Workload;
use super::native::Way;
use super::told::{Keys, Told};
use crate::plan::{Load, Script};
use std::sync::Arc;

impl Keys for Script {
    const KIND: &'static str = "lua";
    const WRITES: Option<bool> = None;
}

impl Told for Script {
    fn build(&self, _way: Way) -> Result<Arc<dyn Workload>, String> {
        Err("workload: a script was not read".to_owned())
    }

    fn fit(&self, load: &mut Load) -> Result<(), String> {
        if load.reconnect_every.is_some() {
            return Err(
                "load.reconnect_every: a script opens and closes its own connections".to_owned(),
            );
        }
        Ok(())
    }

    fn script(&self) -> Option<&Script> {
        Some(self)
    }
}
