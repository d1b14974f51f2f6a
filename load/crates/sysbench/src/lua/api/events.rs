//! Events and counters: the loop of a worker, and its counts.

use super::Pushed;
use crate::lua::context::Context;
use crate::lua::log::Level;
use crate::lua::stack::Stack;
use crate::lua::thread_io::Turn;
use contend_engine::workload::EventTimes;
use contend_figures::Counter;
use std::time::Instant;

functions! {
    "more_events": more_events,
    "event_start": event_start,
    "event_stop": event_stop,
    "turn": turn,
    "is_over": is_over,
    "count_error": count_error,
    "counter_add": counter_add,
    "counter_value": counter_value,
    "print_test_options": print_test_options,
}

/// Waits for the next event; false once there is none.
fn more_events(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let more = more(cx);
    stack.push_flag(more);
    1
}

fn event_start(_stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    start(cx);
    0
}

fn event_stop(_stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    stop(cx);
    0
}

/// All three in one call: stops the event that runs, waits for the next, and starts it; false
/// once there is none.
fn turn(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    stop(cx);
    let more = more(cx);
    if more {
        start(cx);
    }
    stack.push_flag(more);
    1
}

fn more(cx: &mut Context) -> bool {
    if cx.run.stop.has_failed() {
        return false;
    }
    match cx.io.next_event() {
        Turn::Event(due) => {
            cx.event.due = due;
            true
        }
        Turn::Done => {
            cx.run
                .log
                .say(Level::Info, "Event limit exceeded, exiting...");
            false
        }
        Turn::Over => {
            cx.figures().keep_running();
            cx.run
                .log
                .say(Level::Info, "Time limit exceeded, exiting...");
            false
        }
    }
}

#[inline]
fn start(cx: &mut Context) {
    let now = Instant::now();
    let due = cx.event.due.take().unwrap_or(now);
    cx.event.begun = Some((due, now));
    cx.figures().enter();
}

/// Counts the event that was started, if one was.
#[inline]
fn stop(cx: &mut Context) {
    if let Some((due, begun)) = cx.event.begun.take() {
        let times = EventTimes {
            response_ns: due.elapsed().as_nanos() as u64,
            // Under a closed loop both are the same reading of the clock.
            lag_ns: match begun == due {
                true => 0,
                false => begun.saturating_duration_since(due).as_nanos() as u64,
            },
        };
        let figures = cx.run.figures.of(cx.thread);
        cx.io.event_ended(due, times, figures);
    }
}

fn is_over(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    stack.push_flag(cx.run.stop.is_over() || cx.io.is_over());
    1
}

/// Counts an error that the script's own hook calls ignorable.
fn count_error(_stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    cx.figures().count(Counter::Errors);
    0
}

/// `counter_add(thread, counter, n)`, where the counter is a number.
fn counter_add(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let (thread, counter) = (stack.integer(1), stack.integer(2));
    let count = if stack.is_nil(3) {
        1.0
    } else {
        stack.number(3)
    };
    cx.run
        .figures
        .of(thread as u32)
        .add(counter as usize, count as u64);
    0
}

fn counter_value(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let (thread, counter) = (stack.integer(1), stack.integer(2));
    let value = cx.run.figures.of(thread as u32).value(counter as usize);
    stack.push_number(value as f64);
    1
}

fn print_test_options(_stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    if let Some(late) = cx.run.late.get() {
        cx.run.log.notice(&late.options_help);
    }
    0
}
