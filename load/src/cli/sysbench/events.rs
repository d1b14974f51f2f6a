//! The command `run`: events on all threads, reports, the end.

use super::extras::Extras;
use super::report::{self, Form};
use super::settings::{OsThreads, Settings};
use super::watch::{self, Hooks, Reporter};
use super::{EXIT_DONE, EXIT_FAILED, EXIT_FORCED, Halt};
use crate::drive::script::{self, Job, Servers, Stage, Ticker};
use crate::lua::fiber::NOT_READY;
use crate::lua::log::{Level, Log, write_stdout};
use crate::lua::run::{Compat, Run};
use crate::lua::{State, thread};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

/// A queue of more than one such part of a second's events is no chance of the last moment.
const OVERLOAD_OF_RATE: u64 = 10;

/// Runs the events and reports them.
pub fn serve(
    main: State,
    run: &Arc<Run>,
    settings: &Settings,
    servers: Servers,
) -> Result<u8, Halt> {
    if !main.has_function("event") {
        let name = run.script.short_name();
        return Err(Halt::Fatal(format!(
            "cannot find the event() function in {name}"
        )));
    }
    let extras = Extras::open(settings).map_err(Halt::Fatal)?;
    thread::call_if_there(&main, run, "init").map_err(|_| Halt::Said)?;
    say_preamble(&run.log, settings, run.compat);
    let form = Form {
        compat: run.compat,
        percentile: settings.percentile,
        percentiles: settings.percentiles.clone(),
        sql: false,
        debug: settings.debug,
        rate: settings.rate > 0,
    };
    let reporter = Arc::new(Reporter::new(Arc::clone(run), form, extras));
    let hooks = Hooks::of(&main);
    run.log.notice("Initializing worker threads...\n");
    let too_slow = after_init_timeout(run, settings)?;

    let mut tickers = Vec::new();
    let mut guard = Some(too_slow);
    let job = Job {
        run: Arc::clone(run),
        servers: servers.clone(),
        threads: settings.threads,
        warmup: settings.warmup,
        time: settings.time,
        drain: settings.drain,
        os_threads: wants_os_threads(run, settings),
    };
    let ran = script::run(job, &mut |stage| match stage {
        Stage::Ready => {
            drop(guard.take());
            run.log.notice("Threads started!\n");
            if settings.warmup.as_secs() > 0 {
                let seconds = settings.warmup.as_secs();
                run.log
                    .notice(&format!("Warming up for {seconds} seconds...\n"));
            }
        }
        Stage::Measuring(opened) => {
            // Without a warm-up threads may have begun already, and everything they did counts.
            if !settings.warmup.is_zero() {
                reporter.books().begin();
            }
            // From when it was due, so that the last interval ends with the run.
            match watch::start(&reporter, settings, hooks, &servers, opened) {
                Ok(started) => tickers.extend(started),
                Err(error) => run.log.fatal(&format!("cannot report: {error}")),
            }
            if let Some(forced) = after_forced_shutdown(&reporter, run, settings) {
                tickers.push(forced);
            }
        }
        Stage::Over => {}
    });
    drop(tickers);
    match ran {
        Err(failure) => {
            let words = match failure.hint {
                _ if failure.message == NOT_READY => failure.message,
                Some(hint) => format!("{} ({hint})", failure.message),
                None => failure.message,
            };
            return Err(Halt::Fatal(words));
        }
        Ok(ran) if ran.unfinished > 0 => eprintln!(
            "WARNING: {} thread(s) still waited for the server when the time was over and the \
             drain time ({} s) too; their last events are in no figure.",
            ran.unfinished,
            settings.drain.as_secs()
        ),
        Ok(_) => {}
    }
    if run.stop.has_failed() {
        // As under sysbench there is no report then, but the script's end is called.
        let _ = thread::call_if_there(&main, run, "done");
        return Ok(EXIT_FAILED);
    }
    conclude(&main, run, settings, &reporter);
    Ok(EXIT_DONE)
}

fn conclude(main: &State, run: &Run, settings: &Settings, reporter: &Reporter) {
    let now = run.window.ended();
    run.log.say(Level::Info, "Done.\n");
    let figures = reporter.books().checkpoint(now);
    if settings.histogram && run.log.shows(Level::Notice) {
        write_stdout(&format!("{}\n", report::histogram(&figures.latency)));
    }
    reporter.say_cumulative(Some(main), &figures);
    // A failure of done() is said, and changes nothing any more.
    let _ = thread::call_if_there(main, run, "done");
    let whole = reporter.books().whole(now);
    reporter.extras().conclude(run, settings, &whole);
    let waiting = whole.queue_length;
    if waiting > u64::from(settings.threads).max(settings.rate / OVERLOAD_OF_RATE) {
        eprintln!(
            "WARNING: overloaded: {waiting} events that were due had not begun when the time was \
             over. The rate is higher than the server and {} threads can serve.",
            settings.threads
        );
    }
}

/// A thread of the operating system each, if that was asked for, or if the script may wait where
/// the host cannot see it.
fn wants_os_threads(run: &Run, settings: &Settings) -> bool {
    match settings.os_threads {
        OsThreads::On => true,
        OsThreads::Off => false,
        OsThreads::Auto => {
            let names = run.may_block.lock().unwrap_or_else(PoisonError::into_inner);
            if !names.is_empty() {
                let words = format!(
                    "The script may wait in {}: one thread of the operating system for each of \
                     its own",
                    names.join(", ")
                );
                run.log.say(Level::Info, &words);
            }
            !names.is_empty()
        }
    }
}

fn say_preamble(log: &Log, settings: &Settings, compat: Compat) {
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

fn after_init_timeout(run: &Arc<Run>, settings: &Settings) -> Result<Ticker, Halt> {
    let run = Arc::clone(run);
    let timeout = settings.init_timeout;
    let fire = move || {
        let seconds = timeout.as_secs();
        run.log.fatal(&format!(
            "Worker threads failed to initialize within {seconds} seconds!"
        ));
        std::process::exit(i32::from(EXIT_FORCED));
    };
    Ticker::once("init-timeout", timeout, fire)
        .map_err(|error| Halt::Fatal(format!("starting a thread: {error}")))
}

fn after_forced_shutdown(
    reporter: &Arc<Reporter>,
    run: &Arc<Run>,
    settings: &Settings,
) -> Option<Ticker> {
    let after = settings.forced_shutdown?;
    let (reporter, run) = (Arc::clone(reporter), Arc::clone(run));
    let fire = move || {
        run.log
            .fatal("The --max-time limit has expired, forcing shutdown...\n");
        let unfinished = run.figures.in_event();
        run.log.notice(&format!(
            "Number of unfinished transactions on forced shutdown: {unfinished}"
        ));
        let figures = reporter.books().checkpoint(Instant::now());
        // The script's own report belongs to a state that another thread is in.
        reporter.say_cumulative(None, &figures);
        std::process::exit(i32::from(EXIT_FORCED));
    };
    Ticker::once("forced-shutdown", after, fire).ok()
}
