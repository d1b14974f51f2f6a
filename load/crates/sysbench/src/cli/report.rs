//! The words and columns of reports. Parsers in the wild match them: not a space may change.

use super::report_sums::ReportFigures;
use crate::lua::histogram::Histogram;
use crate::lua::run::Compat;
use contend_console::output::ratio;
use contend_figures::{Counter, Latency, Reading};
use std::fmt::Write as _;

const MS_PER_NS: f64 = 1e-6;
const S_PER_NS: f64 = 1e-9;

/// The columns of a report besides the figures.
#[derive(Clone, Debug)]
pub struct Form {
    pub compat: Compat,
    /// 0: none.
    pub percentile: u32,
    pub percentiles: Vec<f64>,
    /// A database driver was asked for.
    pub sql: bool,
    pub debug: bool,
    pub rate: bool,
}

/// The line of an interval, without its stamp.
pub fn interval(form: &Form, figures: &ReportFigures) -> String {
    let rate = |counter: Counter| per_second(figures.sum.of(counter), figures.interval_s);
    let latency_ms = figures.percentile_s(form.percentile) * 1e3;
    let (threads, percentile) = (figures.sum.running, form.percentile);
    if !form.sql {
        return format!(
            "thds: {threads} eps: {:4.2} lat (ms,{percentile}%): {latency_ms:4.2}",
            rate(Counter::Events)
        );
    }
    let [reads, writes, other] = [Counter::Read, Counter::Write, Counter::Other].map(rate);
    format!(
        "thds: {threads} tps: {:4.2} qps: {:4.2} (r/w/o: {reads:4.2}/{writes:4.2}/{other:4.2}) \
         lat (ms,{percentile}%): {latency_ms:4.2} err/s: {:4.2} reconn/s: {:4.2}",
        rate(Counter::Events),
        reads + writes + other,
        rate(Counter::Errors),
        rate(Counter::Reconnects)
    )
}

/// The second line of an interval under a rate.
pub fn queue(form: &Form, figures: &ReportFigures) -> String {
    let comma = if form.sql { "," } else { "" };
    format!(
        "queue length: {}{comma} concurrency: {}",
        figures.queue_length, figures.sum.in_event
    )
}

/// The histogram of a report, with its heading.
pub fn histogram(latency: &Latency) -> String {
    let mut shown = Histogram::of_latency();
    latency.each(|time_ns, count| shown.add(time_ns as f64 * MS_PER_NS, count));
    format!(
        "Latency histogram (values are in milliseconds)\n{} ",
        shown.render()
    )
}

/// The whole report, without the line end after it.
pub fn cumulative(form: &Form, figures: &ReportFigures) -> String {
    let mut text = String::new();
    if form.sql {
        text.push_str(&of_sql(figures));
    }
    text.push_str(&general(form, figures));
    put_latency(&mut text, form, figures);
    text.push_str(&fairness(&figures.threads));
    if form.debug {
        put_threads(&mut text, &figures.threads);
    }
    put_percentiles(&mut text, form, figures);
    text
}

fn per_second(count: u64, seconds: f64) -> f64 {
    ratio(count as f64, seconds)
}

fn of_sql(figures: &ReportFigures) -> String {
    let of = |counter: Counter| figures.sum.of(counter);
    let (reads, writes, other) = (of(Counter::Read), of(Counter::Write), of(Counter::Other));
    let queries = reads + writes + other;
    let mut text = format!(
        "SQL statistics:
    queries performed:
        read:                            {reads}
        write:                           {writes}
        other:                           {other}
        total:                           {queries}\n"
    );
    let mut put = |name: &str, count: u64| {
        let rate = per_second(count, figures.interval_s);
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(text, "    {name:<37}{count:<6} ({rate:.2} per sec.)");
    };
    put("transactions:", of(Counter::Events));
    put("queries:", queries);
    put("ignored errors:", of(Counter::Errors));
    put("reconnects:", of(Counter::Reconnects));
    text
}

fn general(form: &Form, figures: &ReportFigures) -> String {
    let (events, total_s) = (figures.sum.of(Counter::Events), figures.total_s);
    let time = match form.compat {
        Compat::V1_0 => format!(
            "General statistics:
    total time:                          {total_s:.4}s"
        ),
        Compat::V1_1 => format!(
            "Throughput:
    events/s (eps):                      {:.4}
    time elapsed:                        {total_s:.4}s",
            per_second(events, figures.interval_s)
        ),
    };
    format!("\n{time}\n    total number of events:              {events}\n")
}

fn put_latency(text: &mut String, form: &Form, figures: &ReportFigures) {
    text.push_str("\nLatency (ms):\n");
    let put = |text: &mut String, name: &str, value_ms: f64| {
        let _ = writeln!(text, "         {name}: {value_ms:39.2}");
    };
    put(text, "min", figures.min_s() * 1e3);
    put(text, "avg", figures.mean_s() * 1e3);
    put(text, "max", figures.max_s() * 1e3);
    match form.percentile {
        0 => text.push_str("         percentile stats:               disabled\n"),
        percentile => put_percentile(text, percentile.into(), figures.percentile_s(percentile)),
    }
    put(text, "sum", figures.sum.time_ns as f64 * MS_PER_NS);
}

/// Behind everything else: parsers take numbers by their position.
fn put_percentiles(text: &mut String, form: &Form, figures: &ReportFigures) {
    // Parsers look for the line of the one above, and must find it once.
    let others = form.percentiles.iter();
    let mut others = others
        .filter(|&&other| other != f64::from(form.percentile))
        .peekable();
    if others.peek().is_some() {
        text.push_str("\nPercentiles (ms):\n");
    }
    for percentile in others {
        put_percentile(text, *percentile, figures.quantile_s(percentile / 100.0));
    }
}

fn put_percentile(text: &mut String, percentile: f64, value_s: f64) {
    let value_ms = value_s * 1e3;
    let _ = writeln!(text, "        {percentile:3}th percentile: {value_ms:27.2}");
}

fn fairness(threads: &[Reading]) -> String {
    let (events_mean, events_deviation) = spread(threads, |t| t.of(Counter::Events) as f64);
    let (time_mean, time_deviation) = spread(threads, |t| t.time_ns as f64 * S_PER_NS);
    format!(
        "\nThreads fairness:
    events (avg/stddev):           {events_mean:.4}/{events_deviation:3.2}
    execution time (avg/stddev):   {time_mean:.4}/{time_deviation:3.2}\n"
    )
}

/// Mean and standard deviation of a figure over all threads.
fn spread(threads: &[Reading], figure: impl Fn(&Reading) -> f64) -> (f64, f64) {
    let count = threads.len().max(1) as f64;
    let mean = threads.iter().map(&figure).sum::<f64>() / count;
    let squares = threads.iter().map(|thread| (figure(thread) - mean).powi(2));
    (mean, (squares.sum::<f64>() / count).sqrt())
}

fn put_threads(text: &mut String, threads: &[Reading]) {
    text.push_str("\nDEBUG: Verbose per-thread statistics:\n\n");
    for (number, thread) in threads.iter().enumerate() {
        let events = thread.of(Counter::Events);
        let seconds = |ns: u64| ns as f64 * S_PER_NS;
        let mean = ratio(seconds(thread.time_ns), events as f64);
        let _ = writeln!(
            text,
            "DEBUG:     thread #{number:3}: min: {:.4}s  avg: {mean:.4}s  max: {:.4}s  events: {events}
DEBUG:                  total time taken by event execution: {:.4}s",
            seconds(thread.time_ns_min.unwrap_or(0)),
            seconds(thread.time_ns_max),
            seconds(thread.time_ns)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_figures::COUNTERS;

    fn form() -> Form {
        Form {
            compat: Compat::V1_0,
            percentile: 95,
            percentiles: Vec::new(),
            sql: true,
            debug: false,
            rate: false,
        }
    }

    fn thread(events: u64, time_ns: u64) -> Reading {
        let mut counters = [0; COUNTERS];
        counters[Counter::Events as usize] = events;
        counters[Counter::Read as usize] = 14 * events;
        counters[Counter::Write as usize] = 4 * events;
        counters[Counter::Other as usize] = 2 * events;
        Reading {
            counters,
            time_ns,
            time_ns_max: 1_910_000,
            time_ns_min: Some(1_910_000),
            ..Reading::default()
        }
    }

    fn figures() -> ReportFigures {
        let mut latency = Latency::new();
        latency.record_ns(1_910_000);
        ReportFigures::new(vec![thread(1, 1_910_000)], latency, 0.0022, 0.0022)
    }

    #[test]
    fn the_report_of_a_database_has_its_columns() {
        assert_eq!(
            cumulative(&form(), &figures()),
            "SQL statistics:
    queries performed:
        read:                            14
        write:                           4
        other:                           2
        total:                           20
    transactions:                        1      (454.55 per sec.)
    queries:                             20     (9090.91 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          0.0022s
    total number of events:              1

Latency (ms):
         min:                                    1.91
         avg:                                    1.91
         max:                                    1.91
         95th percentile:                        1.91
         sum:                                    1.91

Threads fairness:
    events (avg/stddev):           1.0000/0.00
    execution time (avg/stddev):   0.0019/0.00
"
        );
    }

    #[test]
    fn the_line_of_an_interval_has_its_columns() {
        let mut figures = figures();
        figures.sum.running = 16;
        figures.interval_s = 1.0;
        assert_eq!(
            interval(&form(), &figures),
            "thds: 16 tps: 1.00 qps: 20.00 (r/w/o: 14.00/4.00/2.00) lat (ms,95%): 1.91 \
             err/s: 0.00 reconn/s: 0.00"
        );
        let plain = Form {
            sql: false,
            ..form()
        };
        assert_eq!(
            interval(&plain, &figures),
            "thds: 16 eps: 1.00 lat (ms,95%): 1.91"
        );
        assert_eq!(queue(&form(), &figures), "queue length: 0, concurrency: 0");
        assert_eq!(queue(&plain, &figures), "queue length: 0 concurrency: 0");
    }

    #[test]
    fn more_percentiles_come_behind_everything_else() {
        for debug in [false, true] {
            let form = Form { debug, ..form() };
            let plain = cumulative(&form, &figures());
            let form = Form {
                percentiles: vec![50.0, 95.0, 99.9],
                ..form
            };
            let text = cumulative(&form, &figures());
            let more = text.strip_prefix(&plain);
            assert_eq!(
                more,
                Some(
                    "
Percentiles (ms):
         50th percentile:                        1.91
        99.9th percentile:                        1.91
"
                ),
                "{text}"
            );
        }
    }

    #[test]
    fn the_newer_words_are_a_switch() {
        let text = cumulative(
            &Form {
                compat: Compat::V1_1,
                ..form()
            },
            &figures(),
        );
        assert!(
            text.contains("\nThroughput:\n    events/s (eps):                      454.5455\n")
        );
        assert!(text.contains("    time elapsed:                        0.0022s\n"));
        let none = cumulative(
            &Form {
                percentile: 0,
                ..form()
            },
            &figures(),
        );
        assert!(none.contains("         percentile stats:               disabled\n"));
    }

    #[test]
    fn uneven_threads_show_in_the_deviation() {
        let events = |thread: &Reading| thread.of(Counter::Events) as f64;
        let threads = [thread(12742, 1), thread(24455, 1)];
        assert_eq!(spread(&threads, events), (18598.5, 5856.5));
        assert_eq!(spread(&[], events), (0.0, 0.0));
    }
}
