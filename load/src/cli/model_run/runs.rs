//! Many runs in one process, side by side on all CPUs that it may use.

use super::{Arguments, VirtualCosts, line, output_of};
use contend_console::output::{self, CommandError};
use contend_model::virtual_time::VirtualRun;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::{fs, io, thread};

/// Keys of a single run that are left out here: they would be most of the bytes.
const LEFT_OUT: [&str; 3] = ["costs", "segments", "answers_of_a_connection"];

/// All runs of a file, in its order.
pub fn main(
    file: &Path,
    options: &Arguments,
    costs: &VirtualCosts,
) -> Result<ExitCode, CommandError> {
    let text = match file == Path::new("-") {
        true => io::read_to_string(io::stdin()),
        false => fs::read_to_string(file),
    };
    let text = text.map_err(|error| format!("--runs {}: {error}", file.display()))?;
    let runs: Result<Vec<_>, _> = (text.lines().zip(1..))
        .map(|(text, number)| {
            line::parse(text, options, costs)
                .map_err(|words| format!("--runs {}: line {number}: {words}", file.display()))
        })
        .collect();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    in_order(&runs?, threads, options.speed, output::line)?;
    Ok(ExitCode::SUCCESS)
}

/// Executes the runs on this number of threads. Each line is written as soon as all before it are.
fn in_order(
    runs: &[VirtualRun],
    threads: usize,
    speed: bool,
    mut write: impl FnMut(&str) -> io::Result<()>,
) -> Result<(), CommandError> {
    let next = AtomicUsize::new(0);
    let (sender, lines) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (next, sender) = (&next, sender.clone());
            scope.spawn(move || {
                while let Some((number, run)) = next_of(runs, next) {
                    // Lines that can no longer be written have no recipient: the rest is not run.
                    if sender.send((number, text_of(run, speed))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut due = 0;
        for (number, line) in lines {
            early.insert(number, line);
            while let Some(line) = early.remove(&due) {
                write(&line?)?;
                due += 1;
            }
        }
        Ok(())
    })
}

fn next_of<'a>(runs: &'a [VirtualRun], next: &AtomicUsize) -> Option<(usize, &'a VirtualRun)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    runs.get(number).map(|run| (number, run))
}

fn text_of(run: &VirtualRun, speed: bool) -> Result<String, String> {
    let mut output = output_of(run, speed)?;
    if let Some(output) = output.as_object_mut() {
        output.retain(|key, _| !LEFT_OUT.contains(&key.as_str()));
    }
    Ok(output.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use clap::Parser;
    use serde_json::Value;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn runs() -> Vec<VirtualRun> {
        let words = "model-run --rows 20000 --seconds 0.005 --warmup 0.001";
        let options = Line::try_parse_from(words.split(' ')).unwrap().arguments;
        // The first takes longest, so that others are ready before it.
        [40, 1, 3, 8, 2, 5]
            .map(|connections| {
                let text = format!(r#"{{"cpus": 4, "connections": {connections}}}"#);
                line::parse(&text, &options, &VirtualCosts::default()).unwrap()
            })
            .into()
    }

    fn lines(threads: usize) -> Vec<String> {
        let mut lines = Vec::new();
        in_order(&runs(), threads, false, |line| {
            lines.push(line.to_owned());
            Ok(())
        })
        .unwrap();
        lines
    }

    #[test]
    fn runs_side_by_side_give_the_lines_of_single_runs_in_order() {
        let single: Vec<_> = runs()
            .iter()
            .map(|run| text_of(run, false).unwrap())
            .collect();
        assert_eq!(lines(2), single);
        let first: Value = serde_json::from_str(&single[0]).unwrap();
        assert_eq!(first["connections"], 40);
        assert!(first["points_per_s"].as_f64().unwrap() > 0.0);
        assert!(LEFT_OUT.iter().all(|key| first.get(key).is_none()));
    }

    #[test]
    fn a_reader_that_has_gone_ends_it() {
        let mut written = 0;
        let ended = in_order(&runs(), 2, false, |_| {
            written += 1;
            Err(io::ErrorKind::BrokenPipe.into())
        });
        assert!(matches!(ended, Err(CommandError::Unwritten(_))));
        assert_eq!(written, 1);
    }
}
