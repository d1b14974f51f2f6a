//! `sysbench.histogram`. A histogram lives as long as its state.

use super::Pushed;
use crate::lua::context::Context;
use crate::lua::histogram::Histogram;
use crate::lua::log;
use crate::lua::stack::Stack;

functions! {
    "keep_histogram_meta": keep_meta,
    "histogram_new": new,
    "histogram_update": update,
    "histogram_print": print,
}

/// `keep_histogram_meta(metatable)`: the mark of histograms from now on.
fn keep_meta(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    cx.histogram_meta = stack.keep_table();
    0
}

/// `histogram_new(size, lowest, highest)`.
fn new(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let size = stack.number(1) as usize;
    let histogram = Histogram::new(size, stack.number(2), stack.number(3));
    cx.histograms.push(histogram);
    let place = cx.histograms.len();
    stack.push_user_data::<usize>(place, &cx.histogram_meta);
    1
}

/// The histogram at the first argument, if it is one.
fn histogram<'a>(stack: &mut Stack<'_>, cx: &'a mut Context) -> Option<&'a mut Histogram> {
    let block: *mut usize = stack.user_data(1, &cx.histogram_meta)?;
    // SAFETY: `new` has written the place, and the value is on the stack.
    let place = unsafe { block.read() };
    cx.histograms.get_mut(place.checked_sub(1)?)
}

fn update(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    if let Some(histogram) = histogram(stack, cx) {
        histogram.update(stack.number(2));
    }
    0
}

fn print(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    if let Some(histogram) = histogram(stack, cx) {
        log::write_stdout(&histogram.render());
    }
    0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::lua::testing::{run_of, state_of};

    #[test]
    fn user_data_of_others_is_no_histogram() {
        let script = "
            local histogram = sysbench.histogram.new(10, 1, 100)
            histogram:update(5)
            function refuses_others()
              histogram.update(foreign, 50)
              debug.setmetatable(foreign, {})
              histogram.update(foreign, 50)
            end
        ";
        let run = run_of(script, 1);
        let mut state = state_of(&run);
        // Like a module in C: a number, as large as the place of a histogram.
        let made = state.protected(|stack| {
            stack.push_table(0, 0);
            let other = stack.keep_table();
            stack.push_user_data::<usize>(1, &other);
            stack.set_global("foreign");
            Ok(())
        });
        made.unwrap();
        let before = state.context().histograms[0].render();
        state.call("refuses_others", &[]).unwrap();
        assert_eq!(state.context().histograms[0].render(), before);
    }
}
