//! The one clock of a run: monotonic nanoseconds, the same for all threads of this host.

use std::time::{Duration, Instant};

/// Nanoseconds of a clock that only goes forward.
#[inline]
pub fn now_ns() -> u64 {
    read_ns(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// The same moment of that clock as an instant.
pub fn instant_of(ns: u64) -> Instant {
    let now = Instant::now();
    // A thread that is held up between the two readings takes the moment for an earlier one.
    let now_ns = now_ns();
    let past = Duration::from_nanos(now_ns.saturating_sub(ns));
    let to_come = Duration::from_nanos(ns.saturating_sub(now_ns));
    now.checked_sub(past).unwrap_or(now) + to_come
}

/// A quick clock for spans of nanoseconds: the processor's own counter if that runs at a constant
/// speed, and otherwise the clock of the run. A reading takes about 10 ns instead of 25.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    of_processor: bool,
    begun: u64,
    begun_ns: u64,
}

impl Ticks {
    pub fn begin() -> Self {
        let of_processor = has_steady_counter();
        let mut ticks = Self {
            of_processor,
            begun: 0,
            begun_ns: now_ns(),
        };
        ticks.begun = ticks.now();
        ticks
    }

    #[inline]
    pub fn now(&self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if self.of_processor {
            // SAFETY: every x86-64 has the counter, and Linux lets programs read it.
            return unsafe { core::arch::x86_64::_rdtsc() };
        }
        now_ns()
    }

    /// How many ticks a nanosecond has, measured since [`Self::begin`]: it is exact to a
    /// hundred-thousandth after 10 ms, and gets better.
    pub fn per_ns(&self) -> f64 {
        if !self.of_processor {
            return 1.0;
        }
        let since_ns = now_ns().saturating_sub(self.begun_ns).max(1);
        self.now().saturating_sub(self.begun) as f64 / since_ns as f64
    }

    /// Its name for people.
    pub fn name(&self) -> &'static str {
        if self.of_processor {
            "tsc"
        } else {
            "monotonic"
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe)] // Newer compilers know that it is safe.
fn has_steady_counter() -> bool {
    const POWER: u32 = 0x8000_0007;
    // SAFETY: every x86-64 has the instruction.
    let cpuid = |page| unsafe { core::arch::x86_64::__cpuid(page) };
    cpuid(0x8000_0000).eax >= POWER && cpuid(POWER).edx >> 8 & 1 == 1
}

#[cfg(not(target_arch = "x86_64"))]
fn has_steady_counter() -> bool {
    false
}

/// CPU time that the calling thread has used.
pub fn thread_cpu_ns() -> u64 {
    read_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// CPU time that a process has used, all its threads together; none if it is gone.
pub fn process_cpu_ns(pid: u32) -> Option<u64> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the pointer refers to a live local.
    let found = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
    if found == 0 { read_ns(clock) } else { None }
}

/// Seconds as whole nanoseconds; a negative value or NaN counts as 0.
pub fn seconds_ns(seconds: f64) -> u64 {
    // A cast from floating point saturates, as intended for a bound.
    (seconds * 1e9) as u64
}

/// A span as whole nanoseconds; a span too long for `u64` becomes the longest possible.
pub fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[inline]
fn read_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer refers to a live local.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return None;
    }
    Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn time_goes_forward() {
        let first = now_ns();
        assert!(first > 0 && now_ns() >= first);
        let before = Instant::now();
        let moment = now_ns();
        assert!(instant_of(moment) <= Instant::now());
        assert!(instant_of(first) <= before);
        let ahead = instant_of(moment + 1_000_000_000_000) - before;
        assert!((990..1010).contains(&ahead.as_secs()));
    }

    #[test]
    fn ticks_go_as_fast_as_the_clock() {
        let ticks = Ticks::begin();
        let (first, first_ns) = (ticks.now(), now_ns());
        std::thread::sleep(Duration::from_millis(50));
        let (last, last_ns) = (ticks.now(), now_ns());
        let ns = (last - first) as f64 / ticks.per_ns();
        // A thread that is held up between two readings reads the second one late.
        assert!(
            (0.5..2.0).contains(&(ns / (last_ns - first_ns) as f64)),
            "{ns}"
        );
    }

    #[test]
    fn cpu_of_a_process_covers_that_of_its_threads() {
        let thread = thread_cpu_ns();
        assert!(process_cpu_ns(std::process::id()).unwrap() >= thread);
        assert_eq!(process_cpu_ns(u32::MAX), None);
    }

    #[test]
    fn odd_seconds_are_bounded() {
        assert_eq!(seconds_ns(1.5), 1_500_000_000);
        assert_eq!((seconds_ns(-1.0), seconds_ns(f64::NAN)), (0, 0));
        assert_eq!(seconds_ns(f64::INFINITY), u64::MAX);
    }
}
