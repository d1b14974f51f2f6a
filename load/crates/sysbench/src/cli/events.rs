//! The command `run`: events on all threads, reports, the end.

use super::report::Form;
use super::settings::{OsThreads, Settings};
use super::watch::{CUMULATIVE, DueReports, Reporter};
use super::{EXIT_DONE, EXIT_FAILED, EXIT_FORCED, Halt, hints};
use crate::cli::report;
use crate::host;
use crate::host::{Alarm, Servers};
use crate::lua::fiber::NOT_READY;
use crate::lua::log::{Level, Log, write_stdout};
use crate::lua::run::{Compat, Run};
use crate::lua::workload::ScriptWorkload;
use crate::lua::{ScriptError, State, thread};
use contend_console::output::remark;
use contend_engine::job::{ArmJob, Job, Pacing, Setup, Several};
use contend_engine::measured::Progress;
use contend_figures::outcome::one_line;
use contend_figures::{Latency, Tally};
use contend_reactor::clock::{nanoseconds, seconds_ns};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A queue longer than this part of a second's events is not just chance at the last moment.
const OVERLOAD_OF_RATE: u64 = 10;
/// A report hook has the drain time, and at least this.
const HOOK_TIME_MIN: Duration = Duration::from_secs(1);
/// Longest wait for one answer while threads begin.
const SETUP_ANSWER_S: f64 = 3600.0;

/// Runs the events and reports them.
pub fn serve(
    main: State,
    run: &Arc<Run>,
    settings: &Settings,
    servers: Servers,
) -> Result<u8, Halt> {
    let raised = |error: ScriptError| Halt::Fatal(error.0);
    // A hook that cannot be looked up now cannot be called later either.
    main.has_hook(CUMULATIVE).map_err(raised)?;
    if !main.has_function("event").map_err(raised)? {
        let name = run.script.short_name();
        return Err(
            Halt::Fatal(format!("cannot find the event() function in {name}"))
                .with_hint(hints::of_script(&run.script)),
        );
    }
    thread::call_if_there(&main, run, "init").map_err(|_| Halt::Reported)?;
    print_preamble(&run.log, settings, run.compat);
    let form = Form {
        compat: run.compat,
        percentile: settings.percentile,
        percentiles: settings.percentiles.clone(),
        sql: false,
        debug: settings.debug,
        rate: settings.rate > 0,
    };
    let reporter = Arc::new(Reporter::new(Arc::clone(run), form));
    run.log.notice("Initializing worker threads...\n");
    let mut init_timeout = Some(after_init_timeout(run, settings)?);
    let mut forced = None;
    let mut watch = None;
    let (mut opened, mut closed) = (None, None);
    let mut job = job_of(run, settings, &servers);
    if wants_os_threads(run, settings) {
        job.setup.block();
    }
    let ran = host::run(run, job, &mut |progress| match progress {
        Progress::Ready { .. } => {
            drop(init_timeout.take());
            run.log.notice("Threads started!\n");
            if settings.warmup.as_secs() > 0 {
                let seconds = settings.warmup.as_secs();
                run.log
                    .notice(&format!("Warming up for {seconds} seconds...\n"));
            }
        }
        Progress::Phase {
            name: "measure", ..
        } => {
            watch = Some(DueReports::new(&reporter, settings, &main, &servers));
            forced = after_forced_shutdown(&reporter, run, settings);
        }
        Progress::Phase {
            name: "end", at, ..
        } => closed = Some(at),
        Progress::Opened { at, counts } => {
            opened = Some(at);
            // Without one threads may have begun already, and everything they did counts.
            if !settings.warmup.is_zero() {
                reporter.sums().begin(counts);
            }
        }
        Progress::Phase { .. } | Progress::Slice { .. } => {}
        Progress::Interval {
            start_s,
            duration_s,
            tally,
            counts,
            backlog,
            ..
        } => {
            let end_s = start_s + duration_s;
            reporter
                .sums()
                .take(end_s, counts, &times_of(tally), backlog);
            if let Some(watch) = &mut watch {
                watch.interval_ended(end_s);
            }
        }
    });
    drop(forced);
    let now = Instant::now();
    if let Some(watch) = watch {
        let limit = closed.unwrap_or(now) + settings.drain;
        watch.end(limit.max(now + HOOK_TIME_MIN));
    }
    let measured = ran.map_err(|failure| {
        let message = one_line(&failure.message);
        Halt::Fatal(match failure.hint {
            Some(hint) if failure.message != NOT_READY => format!("{message} ({hint})"),
            _ => message.into_owned(),
        })
    })?;
    let left = run.figures.left().max(measured.end.unanswered);
    if left > 0 {
        remark(&format!(
            "WARNING: {left} of {} thread(s) had not finished after the time and the drain time \
             ({} s); their last events are not counted.",
            settings.threads,
            settings.drain.as_secs()
        ));
    }
    let end_s = total_s(run, opened.unwrap_or(now), closed.unwrap_or(now));
    let waiting = measured.queue.closed.last().copied().unwrap_or(0);
    let times = times_of(&measured.drained);
    (reporter.sums()).take(end_s, &measured.counts, &times, waiting);
    if run.stop.has_failed() {
        // As under sysbench there is no report then, but the script's end is called.
        let _ = thread::call_if_there(&main, run, "done");
        return Ok(EXIT_FAILED);
    }
    let all_hang = left >= settings.threads;
    conclude(&main, run, settings, &reporter, all_hang);
    match all_hang || reporter.has_failed() {
        true => Ok(EXIT_FAILED),
        false => Ok(EXIT_DONE),
    }
}

/// From the begin of the window to the end of the last event. As long as there were threads to
/// begin events, the time until the end of the window was theirs.
fn total_s(run: &Run, opened: Instant, closed: Instant) -> f64 {
    let end = match run.figures.last_end() {
        None => closed,
        Some(last) if run.figures.were_cut_off() => last.max(closed),
        Some(last) => last,
    };
    end.saturating_duration_since(opened).as_secs_f64()
}

/// The times of a tally's events.
fn times_of(tally: &Tally) -> Cow<'_, Latency> {
    let kind = tally.kinds.first();
    kind.map_or_else(Cow::default, |kind| Cow::Borrowed(&kind.response))
}

fn conclude(main: &State, run: &Arc<Run>, settings: &Settings, reporter: &Reporter, hangs: bool) {
    run.log.say(Level::Info, "Done.\n");
    let mut figures = reporter.sums().checkpoint();
    // All have ended.
    figures.sum.running = 0;
    if settings.histogram && run.log.shows(Level::Notice) {
        write_stdout(&format!("{}\n", report::histogram(&figures.latency)));
    }
    let limit = give_up_after(run, settings, "report_cumulative");
    reporter.print_cumulative(main, &figures);
    drop(limit);
    // A server that lets all threads wait lets the script's end wait too.
    let limit = hangs.then(|| give_up_after(run, settings, "done"));
    // A failure of done() is reported, and changes nothing any more.
    let _ = thread::call_if_there(main, run, "done");
    drop(limit);
    let waiting = figures.queue_length;
    if waiting > u64::from(settings.threads).max(settings.rate / OVERLOAD_OF_RATE) {
        remark(&format!(
            "WARNING: overloaded: {waiting} due events had not started when the time was over. \
             The rate is too high for the server and {} thread(s).",
            settings.threads
        ));
    }
}

/// Ends the program unless a function of the script comes back within the drain time.
fn give_up_after(run: &Arc<Run>, settings: &Settings, function: &'static str) -> Option<Alarm> {
    let limit = settings.drain.max(HOOK_TIME_MIN);
    let run = Arc::clone(run);
    let fire = move || {
        let seconds = limit.as_secs();
        let error = ScriptError(format!("it had not returned after {seconds} s"));
        thread::say_failed(&run, function, &error);
        std::process::exit(i32::from(EXIT_FAILED));
    };
    Alarm::set("give-up", limit, fire).ok()
}

/// Says if the threads get one of the operating system each because of what the script calls.
fn wants_os_threads(run: &Run, settings: &Settings) -> bool {
    let are_wanted = settings.os_threads.are_wanted(run);
    if are_wanted && settings.os_threads == OsThreads::Auto {
        let words = format!(
            "The script may wait in {}: each of its threads is an operating system thread",
            run.blocking().join(", ")
        );
        run.log.say(Level::Info, &words);
    }
    are_wanted
}

fn print_preamble(log: &Log, settings: &Settings, compat: Compat) {
    log.notice("Running the test with following options:");
    log.notice(&format!("Number of threads: {}", settings.threads));
    if compat == Compat::V1_1 && !settings.warmup.is_zero() {
        log.notice(&format!("Warmup time: {}s", settings.warmup.as_secs()));
    }
    if settings.rate > 0 {
        log.notice(&format!("Target transaction rate: {}/sec", settings.rate));
    }
    if !settings.interval.is_zero() {
        let seconds = settings.interval.as_secs_f64();
        log.notice(&format!(
            "Report intermediate results every {seconds} second(s)"
        ));
    }
    if !settings.checkpoints.is_empty() {
        let seconds: Vec<_> = settings.checkpoints.iter().map(u64::to_string).collect();
        log.notice(&format!(
            "Report checkpoint(s) at {} seconds",
            seconds.join(", ")
        ));
    }
    if settings.debug {
        log.notice("Debug mode enabled.\n");
    }
    if settings.validate {
        log.notice("Validation checks: on.\n");
    }
    let seed = match settings.seed_given {
        0 => "Initializing random number generator from current time\n".to_owned(),
        seed => format!("Initializing random number generator from seed ({seed}).\n"),
    };
    match settings.forced_shutdown {
        None => log.notice(&format!("{seed}\n")),
        Some(after) => {
            log.notice(&seed);
            log.notice(&format!(
                "Forcing shutdown in {} seconds\n",
                after.as_secs()
            ));
        }
    }
}

fn job_of(run: &Arc<Run>, settings: &Settings, servers: &Servers) -> Job {
    let workload = Arc::new(ScriptWorkload::new(Arc::clone(run)));
    let arm = ArmJob {
        pacing: match run.dispenser.schedule() {
            Some(_) => Pacing::Open,
            None => Pacing::WITHOUT_PAUSE,
        },
        dispenser: Arc::clone(&run.dispenser),
        ..ArmJob::of(host::targets(servers), workload)
    };
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let setup = Setup {
        workers: cores.min(settings.threads).max(1),
        seed: run.draws.seed,
        setup_timeout_ns: seconds_ns(SETUP_ANSWER_S),
        drain_ns: nanoseconds(settings.drain),
        checkpoints_ns: settings
            .checkpoints
            .iter()
            .map(|second| nanoseconds(Duration::from_secs(*second)))
            .collect(),
        // It checks no server first: a script may connect to nothing at all, and reports an error
        // itself if it cannot.
        ..Setup::new(Several::one(arm), settings.threads)
    };
    Job {
        warmup_ns: nanoseconds(settings.warmup),
        measure_ns: settings.time.map_or(u64::MAX, nanoseconds),
        interval_ns: nanoseconds(settings.interval),
        ..Job::new(setup)
    }
}

fn after_init_timeout(run: &Arc<Run>, settings: &Settings) -> Result<Alarm, Halt> {
    let run = Arc::clone(run);
    let timeout = settings.init_timeout;
    let fire = move || {
        let seconds = timeout.as_secs();
        run.log.fatal(&format!(
            "Worker threads failed to initialize within {seconds} seconds!"
        ));
        std::process::exit(i32::from(EXIT_FORCED));
    };
    Alarm::set("init-timeout", timeout, fire)
        .map_err(|error| Halt::Fatal(format!("starting a thread: {error}")))
}

fn after_forced_shutdown(
    reporter: &Arc<Reporter>,
    run: &Arc<Run>,
    settings: &Settings,
) -> Option<Alarm> {
    let after = settings.forced_shutdown?;
    let begun = Instant::now();
    let (reporter, run) = (Arc::clone(reporter), Arc::clone(run));
    let fire = move || {
        run.log
            .fatal("The --max-time limit has expired, forcing shutdown...\n");
        // Hanging threads have reported nothing since.
        let counts = run.figures.read();
        let unfinished: u32 = counts.iter().map(|(_, thread)| thread.in_event).sum();
        run.log.notice(&format!(
            "Number of unfinished transactions on forced shutdown: {unfinished}"
        ));
        let now_s = begun.elapsed().as_secs_f64();
        let figures = {
            let mut sums = reporter.sums();
            sums.take(now_s, &counts, &Latency::new(), 0);
            sums.checkpoint()
        };
        // The script's own report belongs to a state that a different thread is in.
        reporter.print_whole(&figures);
        std::process::exit(i32::from(EXIT_FORCED));
    };
    Alarm::set("forced-shutdown", after, fire).ok()
}
