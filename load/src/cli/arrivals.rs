//! `contend-load arrivals PLAN`: the schedule of a plan's open loop, event by event.
//!
//! Together with the null server's service times, this fixes when each event of a run should begin
//! and end. Reports of a run can be checked against it.

use super::{plan_file, service_time};
use contend_console::output;
use contend_console::output::CommandError;
use contend_engine::arrival::{Arrivals, Curve};
use contend_plan::{Arrival, Plan};
use contend_reactor::clock::seconds_ns;
use contend_servers::serve::ServiceTime;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

/// Print the due times of an open loop's events as CSV: each event's number and its time after the
/// start of the load, warm-up included. With --service-us also its time on the null server with the
/// same options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The plan, a JSON file; - for standard input.
    plan: String,
    /// Stop at this time after the start of the load. Default: the end of the window.
    #[arg(long, value_name = "SECONDS", value_parser = time_s)]
    until: Option<f64>,
    #[command(flatten)]
    service: service_time::ServiceArguments,
}

pub fn main(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let schedule = schedule_of(&plan_file::read(&arguments.plan)?, arguments)?;
    output::stream(|out| schedule.print(&mut BufWriter::new(out)))?;
    Ok(ExitCode::SUCCESS)
}

struct ArrivalsTable {
    arrivals: Arrivals,
    until_ns: u64,
    events_max: u64,
    service: ServiceTime,
    seed: u64,
}

fn schedule_of(plan: &Plan, arguments: &Arguments) -> Result<ArrivalsTable, String> {
    let load = &plan.load;
    let Arrival::Open { process, stages } = &load.arrival else {
        return Err("load.arrival: only an open loop (kind \"open\") has a schedule".to_owned());
    };
    let curve = Curve::new(load.warmup_s, stages);
    let until_s = arguments.until.unwrap_or(load.warmup_s + load.measure_s);
    Ok(ArrivalsTable {
        arrivals: Arrivals::new(curve, *process, plan.seed),
        until_ns: seconds_ns(until_s),
        events_max: load.events.unwrap_or(u64::MAX),
        service: arguments.service.time(),
        seed: arguments.service.seed,
    })
}

impl ArrivalsTable {
    fn print(mut self, out: &mut dyn Write) -> std::io::Result<()> {
        let has_service = self.service != ServiceTime::None;
        let head = if has_service { ",service_ns" } else { "" };
        writeln!(out, "number,offset_ns{head}")?;
        while let Some(event) = self.arrivals.next_arrival() {
            if event.offset_ns >= self.until_ns || event.number >= self.events_max {
                break;
            }
            write!(out, "{},{}", event.number, event.offset_ns)?;
            if has_service {
                write!(out, ",{}", self.service.of_event(self.seed, event.number))?;
            }
            writeln!(out)?;
        }
        out.flush()
    }
}

fn time_s(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(time) if (0.0..=plan_file::TIME_S_MAX).contains(&time) => Ok(time),
        _ => Err("use seconds, 0 to one year".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use clap::Parser;
    use serde_json::json;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn plan(arrival: &serde_json::Value, events: Option<u64>) -> Plan {
        let plan = json!({
            "version": 1, "seed": 5, "server": {"socket": "/s"},
            "workload": {"kind": "sql", "text": "SELECT {n:serial(0)};"},
            "load": {"connections": 2, "warmup_s": 0.5, "measure_s": 1.5, "arrival": arrival,
                "events": events},
        });
        plan_file::parse(&plan.to_string()).unwrap()
    }

    fn printed(plan: &Plan, words: &str) -> Result<String, String> {
        let words = ["x", "plan"].into_iter().chain(words.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        let mut out = Vec::new();
        schedule_of(plan, &line.arguments)?.print(&mut out).unwrap();
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn every_event_up_to_the_end_has_its_number_and_time() {
        let even = json!({"kind": "open", "process": "even", "stages": [{"rate": 4.0}]});
        let text = printed(&plan(&even, None), "--until 1").unwrap();
        assert_eq!(
            text,
            "number,offset_ns\n0,0\n1,250000000\n2,500000000\n3,750000000\n"
        );
        // Half a second of warm-up and a window of one and a half.
        let whole = printed(&plan(&even, None), "").unwrap();
        assert_eq!(whole.lines().count(), 1 + 8);
        let limited = printed(&plan(&even, Some(3)), "").unwrap();
        assert_eq!(limited.lines().count(), 1 + 3);
    }

    #[test]
    fn service_times_are_those_of_the_null_server() {
        let open = json!({"kind": "open", "stages": [{"rate": 100.0}]});
        let words = "--service-us 10000 --service exponential --seed 9";
        let text = printed(&plan(&open, None), words).unwrap();
        let service = ServiceTime::Random {
            mean_ns: 10_000_000,
        };
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("number,offset_ns,service_ns"));
        let mut count = 0;
        for (number, line) in lines.enumerate() {
            let number = number as u64;
            let cells: Vec<u64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            assert_eq!((cells[0], cells[2]), (number, service.of_event(9, number)));
            count += 1;
        }
        assert!(count > 100, "{count}");
    }

    #[test]
    fn what_has_no_schedule_is_refused() {
        let closed = printed(&plan(&json!({"kind": "closed"}), None), "");
        assert!(closed.unwrap_err().starts_with("load.arrival: "));
        let open = plan(&json!({"kind": "open", "stages": [{"rate": 1.0}]}), None);
        for words in ["--until=-1", "--until NaN", "--until 1e9"] {
            assert!(printed(&open, words).is_err(), "{words}");
        }
    }
}
