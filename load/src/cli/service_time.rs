//! The time that a null server's answers take, as options of the server and of the computation.

use contend_reactor::clock::seconds_ns;
use contend_servers::serve::ServiceTime;

/// An hour: a longer time is probably a mistaken unit.
const TIME_US_MAX: f64 = 3.6e9;

#[derive(Debug, clap::Args)]
pub struct ServiceArguments {
    /// Time of each answer of the null server.
    #[arg(long, value_name = "MICROSECONDS", value_parser = time_us)]
    service_us: Option<f64>,
    /// Distribution of that time: constant, or exponential with this mean.
    #[arg(long, value_enum, requires = "service_us")]
    service: Option<Spread>,
    /// Seed of the null server's random times.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Spread {
    #[default]
    Constant,
    Exponential,
}

impl ServiceArguments {
    pub fn time(&self) -> ServiceTime {
        match (us_ns(self.service_us), self.service.unwrap_or_default()) {
            (0, _) => ServiceTime::None,
            (ns, Spread::Constant) => ServiceTime::Fixed { ns },
            (mean_ns, Spread::Exponential) => ServiceTime::Random { mean_ns },
        }
    }
}

/// Nanoseconds of a time of the command line.
pub fn us_ns(us: Option<f64>) -> u64 {
    seconds_ns(us.unwrap_or(0.0) / 1e6)
}

/// Reads a time in microseconds.
///
/// # Errors
/// It is none, negative, or too long to be meant.
pub fn time_us(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(time) if (0.0..=TIME_US_MAX).contains(&time) => Ok(time),
        _ => Err("use microseconds, 0 to 3.6e9 (an hour)".to_owned()),
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
        arguments: ServiceArguments,
    }

    fn time_of(words: &str) -> Option<ServiceTime> {
        let line = Line::try_parse_from(std::iter::once("x").chain(words.split_whitespace()));
        line.ok().map(|line| line.arguments.time())
    }

    #[test]
    fn times_become_nanoseconds() {
        for (words, time) in [
            ("", ServiceTime::None),
            ("--service-us 0 --service exponential", ServiceTime::None),
            ("--service-us 1.5", ServiceTime::Fixed { ns: 1_500 }),
            (
                "--service-us 2 --service constant",
                ServiceTime::Fixed { ns: 2_000 },
            ),
            (
                "--service-us 2 --service exponential",
                ServiceTime::Random { mean_ns: 2_000 },
            ),
        ] {
            assert_eq!(time_of(words), Some(time), "{words}");
        }
    }

    #[test]
    fn times_that_cannot_be_meant_are_refused() {
        for words in [
            "--service-us=-1",
            "--service-us NaN",
            "--service-us inf",
            "--service-us 3.7e9",
            "--service-us soon",
            "--service exponential",
        ] {
            assert_eq!(time_of(words), None, "{words}");
        }
    }
}
