//! A thread that samples other threads, drawn at random, until it is stopped.

use super::files::{ProcessFiles, ThreadState, WatchedThread};
use contend_random::Stream;
use contend_reactor::{clock, threads};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Threads sampled per wake-up: waking costs more than looking.
const AT_ONCE: u32 = 4;
/// Waits between looks are random, and no longer than this multiple of their mean.
const WAIT_MEANS_MAX: f64 = 8.0;
/// The random stream of draws; no long stream of a seed shares its number.
const DRAW_STREAM: u64 = (1 << 50) + 2;

/// One sample of a thread: its place in the list, its state, and the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    pub(super) place: u32,
    pub(super) found: ThreadState,
    pub(super) at_ns: u64,
}

/// The samples, until it was stopped.
#[derive(Debug, Default)]
pub(super) struct Sampled {
    pub(super) found: Vec<Sight>,
    /// Why a thread could not be looked at; nothing was read after that.
    pub(super) refused: Option<String>,
    pub(super) cpu_ns: u64,
}

pub(super) struct ThreadSampler {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Sampled>>,
}

impl ThreadSampler {
    /// Samples these threads of a process, at most at the given rate per second.
    pub(super) fn start(
        files: ProcessFiles,
        listed: Vec<Arc<WatchedThread>>,
        reads_per_s: u32,
        seed: u64,
        number: u32,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let stream = Stream::new(seed, DRAW_STREAM).part(u64::from(number));
        let work = move || sample(&files, &listed, reads_per_s, stream, &told);
        let thread = std::thread::Builder::new().name("sampler".to_owned());
        Self {
            stop,
            thread: thread.spawn(work).ok(),
        }
    }

    /// Ends it; that takes no longer than one of its waits.
    pub(super) fn stop(mut self) -> Sampled {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take();
        thread
            .and_then(|thread| {
                thread.thread().unpark();
                thread.join().ok()
            })
            .unwrap_or_else(|| Sampled {
                refused: Some("the sampling thread could not be started".to_owned()),
                ..Sampled::default()
            })
    }
}

/// A run that fails ends it too.
impl Drop for ThreadSampler {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn sample(
    files: &ProcessFiles,
    listed: &[Arc<WatchedThread>],
    reads_per_s: u32,
    mut stream: Stream,
    stop: &AtomicBool,
) -> Sampled {
    threads::be_punctual();
    let mut sampled = Sampled::default();
    let at_once = AT_ONCE.min(listed.len() as u32).min(reads_per_s).max(1);
    let mean_s = f64::from(at_once) / f64::from(reads_per_s.max(1));
    let mut due_ns = clock::now_ns();
    'looks: loop {
        // From one due time to the next, so that a late look is not followed by fewer.
        let wait_s = mean_s * stream.exponential().min(WAIT_MEANS_MAX);
        due_ns = due_ns.saturating_add(clock::seconds_ns(wait_s));
        let now_ns = clock::now_ns();
        if due_ns > now_ns {
            std::thread::park_timeout(Duration::from_nanos(due_ns - now_ns));
        } else {
            // Missed samples are not made up for: never more reads per second than the given rate.
            due_ns = now_ns;
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        for _ in 0..at_once {
            let place = stream.below(listed.len() as u64) as u32;
            let Some(thread) = listed.get(place as usize) else {
                break 'looks;
            };
            match files.look(thread) {
                Ok(found) => sampled.found.push(Sight {
                    place,
                    found,
                    at_ns: clock::now_ns(),
                }),
                Err(error) => {
                    sampled.refused = Some(format!("/proc/PID/task/TID/syscall: {error}"));
                    break 'looks;
                }
            }
        }
    }
    sampled.cpu_ns = clock::thread_cpu_ns();
    sampled
}
