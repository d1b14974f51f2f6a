//! What a process has used so far, read at the edges of the measured window.

use contend_figures::outcome::ProcessDelta;
use contend_reactor::clock;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The counters of one process at one moment. A counter that cannot be read (another user's
/// process, a kernel without the file) is absent, not zero.
#[derive(Clone, Debug)]
pub struct ProcessSnapshot {
    cpu_ns: u64,
    /// Voluntary and involuntary switches of each thread.
    switches: Option<HashMap<u32, (u64, u64)>>,
    io: Option<(u64, u64)>,
}

impl ProcessSnapshot {
    /// None if the process does not exist.
    pub fn take(pid: u32) -> Option<Self> {
        // The CPU time is read first, so it does not contain the cost of reading the rest.
        let cpu_ns = clock::process_cpu_ns(pid)?;
        let folder = PathBuf::from(format!("/proc/{pid}"));
        Some(Self {
            cpu_ns,
            switches: switches(&folder.join("task")),
            io: io(&folder.join("io")),
        })
    }

    /// The use from `self` to `later`.
    pub fn until(&self, later: &Self) -> ProcessDelta {
        let (voluntary, involuntary) = match (&self.switches, &later.switches) {
            (Some(before), Some(after)) => {
                let (voluntary, involuntary) = switches_between(before, after);
                (Some(voluntary), Some(involuntary))
            }
            _ => (None, None),
        };
        let io = self.io.zip(later.io);
        ProcessDelta {
            cpu_us: later.cpu_ns.saturating_sub(self.cpu_ns) as f64 / 1000.0,
            voluntary_switches: voluntary,
            involuntary_switches: involuntary,
            read_bytes: io.map(|(before, after)| after.0.saturating_sub(before.0)),
            write_bytes: io.map(|(before, after)| after.1.saturating_sub(before.1)),
        }
    }
}

/// Thread by thread: one that began in between counts whole, one that ended is lost with its
/// counts, which would make a difference of sums negative.
fn switches_between(
    before: &HashMap<u32, (u64, u64)>,
    after: &HashMap<u32, (u64, u64)>,
) -> (u64, u64) {
    after
        .iter()
        .fold((0, 0), |(voluntary, involuntary), (thread, counts)| {
            let (v, i) = before.get(thread).copied().unwrap_or_default();
            (
                voluntary + counts.0.saturating_sub(v),
                involuntary + counts.1.saturating_sub(i),
            )
        })
}

fn switches(tasks: &Path) -> Option<HashMap<u32, (u64, u64)>> {
    let mut threads = HashMap::new();
    for entry in std::fs::read_dir(tasks).ok()? {
        let entry = entry.ok()?;
        let Some(thread) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // A thread may end between the listing and the reading: that is not a failure.
        let Ok(text) = std::fs::read_to_string(entry.path().join("status")) else {
            continue;
        };
        let counts = (
            field(&text, "voluntary_ctxt_switches:"),
            field(&text, "nonvoluntary_ctxt_switches:"),
        );
        if let (Some(voluntary), Some(involuntary)) = counts {
            threads.insert(thread, (voluntary, involuntary));
        }
    }
    (!threads.is_empty()).then_some(threads)
}

fn io(file: &Path) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(file).ok()?;
    Some((field(&text, "read_bytes:")?, field(&text, "write_bytes:")?))
}

/// The number after `name` at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn our_own_use_grows() {
        let before = ProcessSnapshot::take(std::process::id()).unwrap();
        let mut sum = 0u64;
        for i in 0..3_000_000u64 {
            sum = std::hint::black_box(sum ^ i);
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
        let delta = before.until(&ProcessSnapshot::take(std::process::id()).unwrap());
        assert!(delta.cpu_us > 0.0);
        assert!(delta.voluntary_switches.unwrap() >= 1);
        assert!(delta.involuntary_switches.is_some());
    }

    #[test]
    fn a_process_that_is_not_there_gives_none() {
        assert!(ProcessSnapshot::take(u32::MAX).is_none());
    }

    #[test]
    fn new_threads_count_whole_and_ended_ones_do_not_subtract() {
        let before = HashMap::from([(1, (10, 1)), (2, (50, 5))]);
        let after = HashMap::from([(1, (12, 1)), (3, (7, 2))]);
        assert_eq!(switches_between(&before, &after), (9, 2));
    }

    #[test]
    fn a_missing_file_is_absent_not_zero() {
        let root = Path::new("/nonexistent");
        assert_eq!((switches(root), io(root)), (None, None));
        assert_eq!(
            field("voluntary_ctxt_switches:\t12\n", "voluntary_ctxt_switches:"),
            Some(12)
        );
    }
}
