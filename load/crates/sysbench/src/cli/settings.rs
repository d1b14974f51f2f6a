//! The options as checked values for the parts of a run.

use super::arguments::{CommandLine, Wrong};
use crate::lua::options::{OptionValue, ScriptOptions, normal_name};
use crate::lua::run::{Compat, Draws, Run};
use contend_random::Distribution;
use contend_random::Shape;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Settings for running and reporting events.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub threads: u32,
    pub events: u64,
    /// None: no limit.
    pub time: Option<Duration>,
    pub warmup: Duration,
    /// From the start to the forced end, if one was asked for.
    pub forced_shutdown: Option<Duration>,
    pub init_timeout: Duration,
    pub rate: u64,
    pub interval: Duration,
    pub checkpoints: Vec<u64>,
    /// 0: none.
    pub percentile: u32,
    pub percentiles: Vec<f64>,
    pub histogram: bool,
    pub debug: bool,
    pub validate: bool,
    pub seed_given: u64,
    pub drain: Duration,
    pub os_threads: OsThreads,
}

/// `--os-threads`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OsThreads {
    On,
    Off,
    /// If the script may wait in ways that the host does not see.
    Auto,
}

impl OsThreads {
    /// Whether each thread of the script needs an operating-system thread. The options ask for it,
    /// or the script calls functions that may block without the event loop's knowledge.
    pub fn are_wanted(self, run: &Run) -> bool {
        match self {
            Self::On => true,
            Self::Off => false,
            Self::Auto => !run.blocking().is_empty(),
        }
    }
}

/// More checkpoints than anybody reads.
const CHECKPOINTS_MAX: usize = 256;
const THREADS_MAX: i64 = 65_536;
const INTERVAL_S_MIN: f64 = 0.01;
const DRAIN: Duration = Duration::from_secs(10);
const VERBOSITY_MAX: i64 = 5;

impl Settings {
    /// Checks the options; an error is a fatal message.
    pub fn new(options: &ScriptOptions, compat: Compat) -> Result<Self, Wrong> {
        let threads = options.int("threads");
        if !(1..=THREADS_MAX).contains(&threads) {
            return Err(format!("Invalid value for --threads: {threads}.\n"));
        }
        if options.int("thread_stack_size") <= 0 {
            let size = options.int("thread_stack_size");
            return Err(format!("Invalid value for thread-stack-size: {size}.\n"));
        }
        let percentile = options.int("percentile");
        if !(0..=100).contains(&percentile) {
            return Err(format!("Invalid value for --percentile: {percentile}"));
        }
        if percentile == 0 && options.flag("histogram") {
            return Err("--histogram cannot be used with --percentile=0".to_owned());
        }
        let rate = options.int("rate");
        let rate = u64::try_from(rate).map_err(|_| format!("Invalid value for --rate: {rate}."))?;
        let time = match options.int("time") {
            0 => None,
            // A negative time is over before it begins, as under sysbench.
            time => Some(Duration::from_secs(time.max(0) as u64)),
        };
        Ok(Self {
            threads: threads as u32,
            events: options.int("events").max(0) as u64,
            time,
            warmup: seconds(options, "warmup-time")?,
            forced_shutdown: forced_shutdown(options.text("forced_shutdown"), time)?,
            init_timeout: match compat {
                Compat::V1_0 => Duration::from_secs(30),
                Compat::V1_1 => seconds(options, "thread-init-timeout")?,
            },
            rate,
            interval: interval(options.double("report_interval"))?,
            checkpoints: checkpoints(options.list("report_checkpoints"))?,
            percentile: percentile as u32,
            percentiles: percentiles(options.list("percentiles"))?,
            histogram: options.flag("histogram"),
            debug: options.flag("debug"),
            validate: options.flag("validate"),
            seed_given: options.int("rand_seed") as u64,
            drain: match options.get("drain_time") {
                Some(_) => seconds(options, "drain-time")?,
                None => DRAIN,
            },
            os_threads: os_threads(options)?,
        })
    }
}

/// A time that is not negative.
fn seconds(options: &ScriptOptions, name: &str) -> Result<Duration, Wrong> {
    let seconds = options.int(&normal_name(name));
    let whole = u64::try_from(seconds);
    let whole = whole.map_err(|_| format!("Invalid value for --{name}: {seconds}."))?;
    Ok(Duration::from_secs(whole))
}

/// True where nothing ends the events but the script, or a signal.
pub fn is_endless(options: &ScriptOptions) -> bool {
    options.int("events") == 0 && options.int("time") == 0 && options.int("threads") > 0
}

pub fn is_verbosity(level: i64) -> bool {
    (0..=VERBOSITY_MAX).contains(&level)
}

pub fn path_of(options: &ScriptOptions, name: &str) -> Option<PathBuf> {
    Some(options.text(name))
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
}

/// An error is a fatal message.
pub fn os_threads(options: &ScriptOptions) -> Result<OsThreads, Wrong> {
    match options.text("os_threads") {
        "" if options.get("os_threads").is_some() => Ok(OsThreads::On),
        "on" => Ok(OsThreads::On),
        "off" => Ok(OsThreads::Off),
        "auto" | "" => Ok(OsThreads::Auto),
        other => Err(format!("Invalid value for --os-threads: '{other}'")),
    }
}

fn interval(seconds: f64) -> Result<Duration, Wrong> {
    if seconds == 0.0 {
        return Ok(Duration::ZERO);
    }
    if !(INTERVAL_S_MIN..=1e9).contains(&seconds) {
        return Err(format!("Invalid value for --report-interval: {seconds}"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn checkpoints(items: &[String]) -> Result<Vec<u64>, Wrong> {
    if items.len() > CHECKPOINTS_MAX {
        return Err(format!(
            "Too many checkpoints in --report-checkpoints (up to {CHECKPOINTS_MAX})"
        ));
    }
    let wrong = |item: &String| format!("Invalid value for --report-checkpoints: '{item}'");
    let second = |item: &String| match item.parse::<u64>() {
        Ok(second @ 1..) => Ok(second),
        _ => Err(wrong(item)),
    };
    let mut seconds = items.iter().map(second).collect::<Result<Vec<_>, _>>()?;
    seconds.sort_unstable();
    Ok(seconds)
}

fn percentiles(items: &[String]) -> Result<Vec<f64>, Wrong> {
    let percentile = |item: &String| match item.parse::<f64>() {
        Ok(percentile) if (0.0..=100.0).contains(&percentile) => Ok(percentile),
        _ => Err(format!("Invalid value for --percentiles: '{item}'")),
    };
    items.iter().map(percentile).collect()
}

/// `off`, seconds after the time, `N%` of the time after it; nothing means 5 %.
fn forced_shutdown(text: &str, time: Option<Duration>) -> Result<Option<Duration>, Wrong> {
    if text == "off" {
        return Ok(None);
    }
    let wrong = || format!("Invalid value for --forced-shutdown: '{text}'");
    let seconds = time.map_or(0, |time| time.as_secs());
    let after = match text.strip_suffix('%') {
        Some(percent) => seconds * percent.parse::<u64>().map_err(|_| wrong())? / 100,
        None if text.is_empty() => seconds * 5 / 100,
        None => text.parse().map_err(|_| wrong())?,
    };
    Ok(time.map(|_| Duration::from_secs(seconds + after)))
}

/// Random distributions of scripts; an error is a fatal message.
pub fn draws(options: &ScriptOptions, compat: Compat) -> Result<Draws, Wrong> {
    let name = options.text("rand_type");
    let part = |name: &str, default: i64| match options.get(name) {
        Some(OptionValue::Int(number)) => u32::try_from(*number).unwrap_or(0),
        _ => default as u32,
    };
    let iter = part("rand_spec_iter", 12).clamp(1, 1000);
    let h = options.double("rand_pareto_h");
    if !(h > 0.0 && h < 1.0) {
        return Err(format!(
            "Invalid value for --rand-pareto-h: {h} (use a number between 0 and 1)"
        ));
    }
    let exp = match options.get("rand_zipfian_exp") {
        Some(_) => options.double("rand_zipfian_exp"),
        None => 0.8,
    };
    if !(0.0..=100.0).contains(&exp) {
        return Err("--rand-zipfian-exp must be >= 0".to_owned());
    }
    let gaussian = Shape::new(&Distribution::Gaussian { iter });
    let special = Shape::new(&Distribution::Special {
        iter,
        pct: part("rand_spec_pct", 1),
        res: part("rand_spec_res", 75),
    });
    let pareto = Shape::new(&Distribution::Pareto { h });
    let zipfian = Shape::new(&Distribution::Zipfian { exp });
    let default = match (name, compat) {
        ("uniform", _) => Shape::Uniform,
        ("gaussian", _) => gaussian,
        ("pareto", _) => pareto,
        ("special", Compat::V1_0) => special,
        ("zipfian", Compat::V1_1) => zipfian,
        ("special" | "zipfian", _) => {
            let other = compat.other().name();
            return Err(format!(
                "Invalid random numbers distribution: {name} (--compat={other} has it)."
            ));
        }
        _ => return Err(format!("Invalid random numbers distribution: {name}.")),
    };
    let seed = match options.int("rand_seed") {
        0 => now_ns(),
        given => given as u64,
    };
    Ok(Draws {
        seed,
        default,
        gaussian,
        special,
        pareto,
        zipfian,
    })
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(1, |time| time.as_nanos() as u64)
}

/// Deprecated options set today's ones; a warning for each.
pub fn take_deprecated(line: &mut CommandLine, options: &mut ScriptOptions) -> Vec<String> {
    let mut warnings = Vec::new();
    for (old, new) in super::table::DEPRECATED {
        let Some(value) = options.get(old).cloned() else {
            continue;
        };
        // One that sets the default anyway is passed over.
        if line.last(old).is_none() || value == OptionValue::Int(i64::from(old == "num_threads")) {
            continue;
        }
        let [old, today] = [old, new].map(|name| name.replace('_', "-"));
        warnings.push(format!("--{old} is deprecated, use --{today} instead"));
        options.set(new, value);
    }
    warnings
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::cli::arguments::read_known;

    fn options(words: &[&str]) -> ScriptOptions {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        read_known(&CommandLine::parse(&words).unwrap(), Compat::V1_0)
            .unwrap()
            .0
    }

    fn settings(words: &[&str]) -> Result<Settings, Wrong> {
        Settings::new(&options(words), Compat::V1_0)
    }

    #[test]
    fn defaults_are_those_of_the_field() {
        let settings = settings(&[]).unwrap();
        assert_eq!(settings.threads, 1);
        assert_eq!(settings.time, Some(Duration::from_secs(10)));
        assert_eq!(
            (settings.events, settings.rate, settings.percentile),
            (0, 0, 95)
        );
        assert_eq!(settings.forced_shutdown, None);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (words, message) in [
            ("--threads=0", "Invalid value for --threads: 0.\n"),
            ("--percentile=101", "Invalid value for --percentile: 101"),
            (
                "--forced-shutdown=abc",
                "Invalid value for --forced-shutdown: 'abc'",
            ),
            (
                "--report-checkpoints=x",
                "Invalid value for --report-checkpoints: 'x'",
            ),
            ("--rate=-1", "Invalid value for --rate: -1."),
            (
                "--report-interval=-1",
                "Invalid value for --report-interval: -1",
            ),
            (
                "--percentiles=50,200",
                "Invalid value for --percentiles: '200'",
            ),
        ] {
            assert_eq!(settings(&[words]).unwrap_err(), message);
        }
        for name in ["--warmup-time", "--thread-init-timeout", "--drain-time"] {
            let line = CommandLine::parse(&[format!("{name}=-1")]).unwrap();
            let options = read_known(&line, Compat::V1_1).unwrap().0;
            let message = format!("Invalid value for {name}: -1.");
            assert_eq!(Settings::new(&options, Compat::V1_1).unwrap_err(), message);
        }
        assert!(settings(&["--percentile=0", "--histogram"]).is_err());
        assert!(draws(&options(&["--rand-type=foo"]), Compat::V1_0).is_err());
        for (name, compat, other) in [
            ("zipfian", Compat::V1_0, "1.1"),
            ("special", Compat::V1_1, "1.0"),
        ] {
            let options = options(&[&format!("--rand-type={name}")]);
            let message = draws(&options, compat).unwrap_err();
            assert!(message.contains(&format!("--compat={other}")), "{message}");
        }
        assert!(draws(&options(&["--rand-pareto-h=2"]), Compat::V1_0).is_err());
    }

    #[test]
    fn a_forced_end_comes_after_the_time() {
        let forced = |words: &[&str]| settings(words).unwrap().forced_shutdown;
        assert_eq!(
            forced(&["--forced-shutdown=3"]),
            Some(Duration::from_secs(13))
        );
        assert_eq!(
            forced(&["--forced-shutdown=50%"]),
            Some(Duration::from_secs(15))
        );
        assert_eq!(
            forced(&["--forced-shutdown"]),
            Some(Duration::from_secs(10))
        );
        assert_eq!(forced(&["--forced-shutdown=3", "--time=0"]), None);
    }

    #[test]
    fn old_names_are_taken_with_a_warning() {
        let words = ["--num-threads=4".to_owned(), "--max-time=7".to_owned()];
        let mut line = CommandLine::parse(&words).unwrap();
        let (mut options, _) = read_known(&line, Compat::V1_0).unwrap();
        let warnings = take_deprecated(&mut line, &mut options);
        assert_eq!(
            warnings[0],
            "--num-threads is deprecated, use --threads instead"
        );
        assert_eq!((options.int("threads"), options.int("time")), (4, 7));
        let words = ["--num-threads=1".to_owned(), "--max-time=0".to_owned()];
        let mut line = CommandLine::parse(&words).unwrap();
        let (mut options, _) = read_known(&line, Compat::V1_0).unwrap();
        assert_eq!(take_deprecated(&mut line, &mut options), [""; 0]);
        assert_eq!(options.int("time"), 10);
    }

    #[test]
    fn a_seed_is_kept_and_none_is_the_clock() {
        let seed = |words: &[&str]| draws(&options(words), Compat::V1_0).unwrap().seed;
        assert_eq!(seed(&["--rand-seed=5"]), 5);
        assert_ne!(seed(&[]), 0);
    }
}
