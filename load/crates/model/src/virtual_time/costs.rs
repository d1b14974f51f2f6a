//! What the host costs: handing over a line of cache, waking, switching, calling the kernel.
//!
//! All of them can be measured without a server, by `contend-load cpus --state` and
//! `contend-load cpus --calls`.

use super::agenda::Ps;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Nanoseconds, as in a file of costs. A value left out has the default.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct HostCosts {
    /// A cache line goes from one CPU to another that is near, or far; one way.
    pub handover_near_ns: f64,
    pub handover_far_ns: f64,
    /// Number of CPUs, neighbours by number, that are near one another. 0: all are.
    pub near_cpus: u32,
    /// CPUs that share a core, neighbours by number.
    pub core_cpus: u32,
    /// The share of its speed that a CPU keeps while another CPU of its core runs a thread.
    pub core_share: f64,
    pub syscall_ns: f64,
    /// From one thread to another on the same CPU.
    pub switch_ns: f64,
    /// CPU time of a thread that comes back to a CPU where others ran for at least `warm_ns`, or
    /// comes from another CPU; in proportion if they ran for less.
    pub cold_ns: f64,
    pub warm_ns: f64,
    /// CPU time of the thread that wakes another.
    pub wake_ns: f64,
    /// The same for a thread whose CPU sleeps: the interrupt that wakes that.
    pub kick_ns: f64,
    /// Until a thread runs that was woken on an idle CPU, if that polls or sleeps.
    pub wake_polling_ns: f64,
    pub wake_sleeping_ns: f64,
    /// An idle CPU sleeps after it has polled for this time.
    pub polls_ns: f64,
    /// Until a thread runs again whose own sleep is over: how late the timer is.
    pub timer_ns: f64,
    /// One round of a loop that waits for a lock.
    pub pause_ns: f64,
    /// A thread gives way after this time to one that has had less.
    pub slice_ns: f64,
    /// A woken thread takes the CPU at once from a thread that has had this much more; none: it
    /// waits for the end of the slice.
    pub preempt_ns: Option<f64>,
    /// A CPU that becomes idle takes a thread that waits for another CPU.
    pub steals: bool,
}

impl Default for HostCosts {
    /// The costs on a virtual machine on an AMD EPYC, CPUs near one another, in November 2026.
    fn default() -> Self {
        Self {
            handover_near_ns: 45.0,
            handover_far_ns: 220.0,
            near_cpus: 0,
            core_cpus: 1,
            core_share: 1.0,
            syscall_ns: 130.0,
            switch_ns: 900.0,
            cold_ns: 0.0,
            warm_ns: 0.0,
            wake_ns: 900.0,
            kick_ns: 1_500.0,
            wake_polling_ns: 25_000.0,
            wake_sleeping_ns: 25_000.0,
            polls_ns: 0.0,
            timer_ns: 50_000.0,
            pause_ns: 18.0,
            slice_ns: 2_800_000.0,
            preempt_ns: None,
            steals: true,
        }
    }
}

impl HostCosts {
    /// # Errors
    /// The name of a figure that is impossible.
    pub fn check(&self) -> Result<(), String> {
        check_times("host", self)?;
        if self.slice_ns < 1_000.0 {
            return Err("host.slice_ns: use 1000 or more".to_owned());
        }
        if self.core_cpus == 0 {
            return Err("host.core_cpus: use 1 or more".to_owned());
        }
        if !(self.core_share > 0.0 && self.core_share <= 1.0) {
            let share = self.core_share;
            return Err(format!(
                "host.core_share: {share}; use more than 0, at most 1"
            ));
        }
        if !self.near_cpus.is_multiple_of(self.core_cpus) {
            let (near, core) = (self.near_cpus, self.core_cpus);
            return Err(format!(
                "host.near_cpus: {near} is not a multiple of core_cpus, {core}"
            ));
        }
        Ok(())
    }
}

/// An hour: a longer time is in the wrong unit.
const TIME_NS_MAX: f64 = 3.6e12;

/// Checks every figure whose name marks it as a time.
///
/// # Errors
/// The name of a time that is impossible.
pub fn check_times(of: &str, costs: &impl Serialize) -> Result<(), String> {
    let costs = json!(costs);
    for (name, value) in costs.as_object().into_iter().flatten() {
        if let Some(ns) = value.as_f64()
            && name.ends_with("_ns")
            && !(0.0..=TIME_NS_MAX).contains(&ns)
        {
            return Err(format!(
                "{of}.{name}: {ns} is not a time; use nanoseconds, 0 to 3.6e12 (an hour)"
            ));
        }
    }
    Ok(())
}

pub fn ps(ns: f64) -> Ps {
    // A cast from floating point saturates.
    (ns * 1e3).round() as Ps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_and_near_cpus_must_fit() {
        let with = |near_cpus, core_cpus, core_share| HostCosts {
            near_cpus,
            core_cpus,
            core_share,
            ..HostCosts::default()
        };
        for (near_cpus, core_cpus, core_share, wrong) in [
            (0, 2, 0.6, ""),
            (12, 2, 1.0, ""),
            (3, 2, 1.0, "host.near_cpus"),
            (0, 0, 1.0, "host.core_cpus"),
            (0, 1, 0.0, "host.core_share"),
            (0, 1, 1.1, "host.core_share"),
            (0, 1, f64::NAN, "host.core_share"),
        ] {
            let checked = with(near_cpus, core_cpus, core_share).check();
            match wrong {
                "" => assert_eq!(checked, Ok(())),
                key => assert!(checked.is_err_and(|words| words.contains(key)), "{key}"),
            }
        }
    }
}
