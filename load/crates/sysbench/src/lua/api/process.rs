//! Waiting other than for queries: sleep, and commands of the operating system.

use super::Pushed;
use crate::lua::context::Context;
use crate::lua::log::Level;
use crate::lua::stack::Stack;
use crate::lua::sys::lua_State;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::time::Duration;

functions! {
    "sleep": sleep,
    "run_command": run_command,
    "note_blocking": note_blocking,
    "note_file": note_file,
    "debug": debug,
}

/// Longest sleep; longer ones are as good as for ever.
const SLEEP_S_MAX: f64 = 1e9;
const POLL_MIN: Duration = Duration::from_micros(500);
const POLL_MAX: Duration = Duration::from_millis(20);

/// `sleep(seconds)`.
fn sleep(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let asked = stack.number(1);
    // A value that is not a number does not sleep.
    let seconds = if asked > 0.0 {
        asked.min(SLEEP_S_MAX)
    } else {
        0.0
    };
    cx.io.sleep(Duration::from_secs_f64(seconds));
    0
}

/// `run_command(text)`: returns the result of os.execute. The thread looks in from time to time
/// instead of blocking, so that others go on meanwhile.
fn run_command(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let text = stack.text(1).unwrap_or_default();
    let mut pause = POLL_MIN;
    let status = match Command::new("/bin/sh").arg("-c").arg(text).spawn() {
        Err(_) => -1,
        Ok(mut child) => loop {
            match child.try_wait() {
                Ok(Some(status)) => break status.into_raw(),
                Ok(None) => {
                    cx.io.sleep(pause);
                    pause = (pause * 2).min(POLL_MAX);
                }
                Err(_) => break -1,
            }
        },
    };
    stack.push_number(status.into());
    1
}

/// `note_blocking(name)`: the script declares something that may wait without the host.
fn note_blocking(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    if let Some(name) = stack.text(1) {
        let mut names = cx.run.blocking();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    0
}

/// `note_file(path)`: the script loads this file.
fn note_file(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    if let Some(path) = stack.text(1) {
        cx.run.loaded.note(&path);
    }
    0
}

/// `debug(text)`: one line, if it is shown.
fn debug(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    if let Some(text) = stack.text(1) {
        cx.run.log.say(Level::Debug, &text);
    }
    0
}

/// `part(name)`: the function of a part of the interface that is loaded late.
pub unsafe extern "C-unwind" fn part(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state; only the context's shared part is used, and a number read.
    let (stack, run, dump) = unsafe {
        let context = Context::of(lua);
        (Stack::new(lua), context.run.clone(), context.originals.dump)
    };
    let name = stack.text(1).unwrap_or_default();
    // SAFETY: Lua has called with its state; one more value fits.
    unsafe { run.chunks.push_part(lua, dump, &name) };
    1
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::lua::testing::{run_of, state_of};

    #[test]
    fn any_number_may_be_slept() {
        let script = "
            function sleeps()
              for _, span in ipairs({ 0 / 0, -1, -1 / 0, 1 / 0, 0 }) do
                ffi.C.usleep(span)
              end
            end
        ";
        state_of(&run_of(script, 1)).call("sleeps", &[]).unwrap();
    }
}
