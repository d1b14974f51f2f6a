//! `contend-load model-run`: the model server in virtual time.

mod line;
mod runs;

use contend_console::output;
use contend_console::output::CommandError;
use contend_figures::Latency;
use contend_figures::outcome::Percentiles;
use contend_model::KeyCacheSizes;
use contend_model::variables::in_bytes;
use contend_model::virtual_time::VirtualRun;
use contend_model::virtual_time::costs::HostCosts;
use contend_model::virtual_time::demands::Demands;
use contend_model::virtual_time::figures::VirtualFigures;
use contend_model::virtual_time::lock::Handing;
use contend_random::Distribution;
use contend_reactor::clock;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Run the model server and its clients in virtual time, on any number of CPUs: the same cache,
/// locks and queries, with given costs instead of clocks and threads.
///
/// Prints one line of JSON, always the same for the same arguments and seed. At one connection a
/// query takes the sum of its demands and two wake-ups, on a single CPU also two switches. With
/// more connections, queries per second are at most CPUs / CPU time of a query, and at most 1 /
/// (visits of a query x hold time) of any lock.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// A file with one run per line, `-` for standard input: JSON objects whose keys are the options
    /// with underscores. Each omitted key has the value of the option.
    #[arg(long, value_name = "FILE")]
    runs: Option<PathBuf>,
    /// CPUs of the server, which its client shares unless it has its own.
    #[arg(long, value_name = "N", default_value_t = 2)]
    cpus: u32,
    /// CPUs that only the client uses, beyond --cpus. 0: client and server share the CPUs.
    #[arg(long, value_name = "N", default_value_t = 0)]
    client_cpus: u32,
    /// Connections; each sends the next query as soon as it is answered.
    #[arg(long, value_name = "N", default_value_t = 8)]
    connections: u32,
    /// Threads of the client. Default: one per CPU of the client, but at most one per connection.
    /// With one per CPU each stays on its own, like contend-load's.
    #[arg(long, value_name = "N")]
    workers: Option<u32>,
    /// Rows of the table.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(ROWS))]
    rows: u32,
    /// Keys per query, drawn like those of the workload random_points.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(POINTS))]
    points: u32,
    /// Distribution of keys: special, uniform, gaussian, pareto or zipfian, each with the usual
    /// parameters.
    #[arg(long, value_name = "KIND", default_value = "special", value_parser = distribution)]
    distribution: Distribution,
    #[arg(long, default_value_t = 303)]
    seed: u64,
    /// The server's key_cache_segments: 0 or 1 to 64.
    #[arg(long, value_name = "N", default_value_t = 0)]
    segments: u32,
    /// The server's key_buffer_size; K, M and G may be used.
    #[arg(long, value_name = "BYTES", default_value = "512M", value_parser = bytes)]
    key_buffer_size: u64,
    /// The server's key_cache_division_limit, percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(DIVISION_LIMIT))]
    division_limit: u32,
    /// The server's key_cache_age_threshold, percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 300, value_parser = clap::value_parser!(u32).range(AGE_THRESHOLD))]
    age_threshold: u32,
    /// Descriptor of the index file; with the page's number it selects a page's segment. Several,
    /// separated by commas: one table of --rows rows for each, and each query reads one, drawn
    /// uniformly.
    #[arg(
        long = "descriptor",
        value_name = "N,…",
        default_value = "0",
        value_delimiter = ','
    )]
    descriptors: Vec<u32>,
    /// Which thread gets a released lock: the first to arrive, or the one that has waited longest.
    /// barging_2010: as barging, with the constant pauses of glibc before 2.36.
    #[arg(long, value_enum, default_value_t = LockWord::Barging)]
    lock: LockWord,
    /// Maximum number of spins before a thread waiting for a lock sleeps; 0: it sleeps at once.
    #[arg(long, value_name = "N", default_value_t = 100)]
    spins: u32,
    /// A JSON file with the costs of host and operations: {"host": {…}, "demands": {…}}. All keys
    /// are optional; the output has all of them.
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
    /// Measured virtual time.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    seconds: f64,
    /// Virtual time before that.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.1, value_parser = seconds)]
    warmup: f64,
    /// Print also the CPU time of this run, which differs each time.
    #[arg(long)]
    speed: bool,
}

const ROWS: RangeInclusive<i64> = 1..=u32::MAX as i64;
const POINTS: RangeInclusive<i64> = 1..=65_535;
const DIVISION_LIMIT: RangeInclusive<i64> = 1..=100;
const AGE_THRESHOLD: RangeInclusive<i64> = 100..=u32::MAX as i64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
enum LockWord {
    Barging,
    #[value(name = "barging_2010")]
    Barging2010,
    InTurn,
}

/// The content of a file of costs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct VirtualCosts {
    host: HostCosts,
    demands: Demands,
}

pub fn main(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let costs = costs_of(arguments)?;
    if let Some(file) = &arguments.runs {
        return runs::main(file, arguments, &costs);
    }
    output::whole_json(&output_of(&run_of(arguments, costs)?, arguments.speed)?)
}

fn costs_of(arguments: &Arguments) -> Result<VirtualCosts, String> {
    arguments.costs.as_deref().map_or_else(
        || Ok(VirtualCosts::default()),
        |file| read(file).map_err(|words| format!("--costs {}: {words}", file.display())),
    )
}

/// Runs it; the whole output.
fn output_of(run: &VirtualRun, speed: bool) -> Result<Value, String> {
    let mut response = Latency::new();
    let begun_ns = clock::thread_cpu_ns();
    let figures = run.run(&mut |ps| response.record_ns(ps / 1_000))?;
    let used_ns = clock::thread_cpu_ns().saturating_sub(begun_ns);
    let took = speed.then(|| Duration::from_nanos(used_ns));
    Ok(in_json(run, &figures, &response.percentiles_us(), took))
}

fn run_of(arguments: &Arguments, costs: VirtualCosts) -> Result<VirtualRun, String> {
    let run = VirtualRun {
        cpus: arguments.cpus,
        client_cpus: arguments.client_cpus,
        connections: arguments.connections,
        workers: arguments
            .workers
            .unwrap_or(match arguments.client_cpus {
                0 => arguments.cpus,
                own => own,
            })
            .min(arguments.connections),
        rows: arguments.rows,
        points: arguments.points,
        distribution: arguments.distribution.clone(),
        seed: arguments.seed,
        key_cache: KeyCacheSizes {
            key_buffer_size: arguments.key_buffer_size,
            key_cache_segments: arguments.segments,
            key_cache_division_limit: arguments.division_limit,
            key_cache_age_threshold: arguments.age_threshold,
        },
        descriptors: arguments.descriptors.clone(),
        handing: match arguments.lock {
            LockWord::Barging => Handing::Barging,
            LockWord::Barging2010 => Handing::Barging2010,
            LockWord::InTurn => Handing::InTurn,
        },
        spins: arguments.spins,
        host: costs.host,
        demands: costs.demands,
        warmup_s: arguments.warmup,
        measure_s: arguments.seconds,
    };
    run.check()?;
    Ok(run)
}

fn read(file: &Path) -> Result<VirtualCosts, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

fn in_json(
    run: &VirtualRun,
    figures: &VirtualFigures,
    response_us: &Percentiles,
    took: Option<Duration>,
) -> Value {
    let mut line = json!({
        "type": "model_run",
        "cpus": run.cpus,
        "client_cpus": run.client_cpus,
        "connections": run.connections,
        "workers": run.workers,
        "points": run.points,
        "rows": run.rows,
        "descriptors": run.descriptors,
        "key_cache_segments": run.key_cache.key_cache_segments,
        "key_buffer_size": run.key_cache.key_buffer_size,
        "lock": run.handing,
        "seed": run.seed,
    });
    let figures_of = figures.to_json();
    if let (Some(line), Value::Object(figures)) = (line.as_object_mut(), figures_of) {
        line.extend(figures);
    }
    line["response_us"] = json!(response_us);
    line["costs"] = json!({"host": run.host, "demands": run.demands});
    if let Some(took) = took {
        let seconds = took.as_secs_f64();
        line["speed"] = json!({
            "cpu_seconds": seconds,
            // Those of the warm-up are not counted, and its time is left out in proportion.
            "visits_per_cpu_second": figures.visits() as f64 / seconds
                * (run.warmup_s + run.measure_s) / run.measure_s,
        });
    }
    line
}

fn distribution(kind: &str) -> Result<Distribution, String> {
    Distribution::usual(kind)
        .ok_or_else(|| "use special, uniform, gaussian, pareto or zipfian".to_owned())
}

fn bytes(text: &str) -> Result<u64, String> {
    in_bytes(text).ok_or_else(|| "use a number of bytes, such as 8388608, 8192K or 8M".to_owned())
}

/// An hour of virtual time takes long enough.
const SECONDS_MAX: f64 = 3_600.0;

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(time) if (0.0..=SECONDS_MAX).contains(&time) => Ok(time),
        _ => Err("use seconds, 0 to 3600".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn run(words: &str) -> Result<VirtualRun, String> {
        let words = std::iter::once("model-run").chain(words.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        run_of(&line.arguments, costs_of(&line.arguments)?)
    }

    #[test]
    fn the_client_has_a_thread_a_cpu_but_none_without_a_connection() {
        assert_eq!(run("").unwrap().workers, 2);
        assert_eq!(run("--cpus 4 --connections 3").unwrap().workers, 3);
        assert_eq!(
            run("--cpus 4 --connections 3 --workers 1").unwrap().workers,
            1
        );
    }

    #[test]
    fn each_descriptor_is_a_table_and_all_their_pages_have_numbers() {
        assert_eq!(run("").unwrap().descriptors, [0]);
        assert_eq!(run("--descriptor 3,40").unwrap().descriptors, [3, 40]);
        let many = ["0"; 70].join(",");
        let refused = run(&format!("--rows 4000000000 --descriptor {many}"));
        assert!(refused.unwrap_err().contains("70 tables"));
    }

    #[test]
    fn sizes_have_letters() {
        assert_eq!(
            run("--key-buffer-size 16K")
                .unwrap()
                .key_cache
                .key_buffer_size,
            16_384
        );
        assert_eq!(run("").unwrap().key_cache.key_buffer_size, 512 << 20);
        for size in [
            "",
            "K",
            "1T",
            "8MK",
            "-1",
            "99999999999999999999",
            "99999999999G",
        ] {
            assert!(bytes(size).is_err(), "{size}");
        }
    }

    #[test]
    fn what_cannot_be_run_is_refused_with_its_name() {
        for (words, said) in [
            ("--cpus 0", "0 CPUs"),
            ("--cpus 257", "257 CPUs"),
            ("--cpus 200 --client-cpus 57", "client_cpus = 57"),
            ("--connections 0", "0 connections"),
            ("--connections 10001", "10001 connections"),
            ("--segments 65", "key_cache_segments = 65"),
            ("--seconds=-1", "seconds"),
            ("--distribution bell", "bell"),
            ("--lock fair", "fair"),
            ("--rows 0", "0"),
            ("--descriptor 1,,2", "invalid value"),
        ] {
            assert!(run(words).unwrap_err().contains(said), "{words}");
        }
    }

    #[test]
    fn a_file_of_costs_says_what_it_says_and_a_wrong_one_where_it_is_wrong() {
        let folder = std::env::temp_dir().join(format!("model-run-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("costs.json");
        let with = |text: &str| {
            std::fs::write(&file, text).unwrap();
            run(&format!("--costs {}", file.display()))
        };
        let read = with(r#"{"demands": {"find_ns": 77.5}, "host": {"near_cpus": 12}}"#).unwrap();
        assert_eq!((read.demands.find_ns, read.host.near_cpus), (77.5, 12));
        assert_eq!(read.demands.copy_ns, Demands::default().copy_ns);
        for (text, said) in [
            ("{", "line 1"),
            (r#"{"demands": {"find": 1}}"#, "unknown field `find`"),
            (r#"{"demands": {"find_ns": -1}}"#, "demands.find_ns"),
            (r#"{"host": {"slice_ns": 5}}"#, "host.slice_ns"),
        ] {
            assert!(with(text).unwrap_err().contains(said), "{text}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(
            run("--costs /nowhere/costs.json")
                .unwrap_err()
                .contains("/nowhere/costs.json")
        );
    }

    #[test]
    fn the_line_is_the_same_each_time() {
        let words = "--connections 6 --segments 4 --rows 20000 --seconds 0.01 --warmup 0.001";
        let line = || output_of(&run(words).unwrap(), false).unwrap().to_string();
        let first = line();
        assert!(first.contains("\"qps\":"));
        assert_eq!(first, line());
    }
}
