//! `sysbench.histogram`. A histogram lives as long as its state.

use super::{ApiEntry, Pushed, enter};
use crate::lua::context::Context;
use crate::lua::histogram::Histogram;
use crate::lua::log;
use crate::lua::stack::Stack;
use crate::lua::sys::{self, lua_State};

pub const FUNCTIONS: &[ApiEntry] = &[
    (c"keep_histogram_meta", keep_meta),
    (c"histogram_new", new),
    (c"histogram_update", update),
    (c"histogram_print", print),
];

/// `keep_histogram_meta(metatable)`: what histograms are known by from now on.
unsafe extern "C-unwind" fn keep_meta(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (mut stack, cx) = unsafe { enter(lua) };
    cx.histogram_meta = stack.keep_table();
    0
}

/// `histogram_new(size, lowest, highest)`.
unsafe extern "C-unwind" fn new(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (stack, cx) = unsafe { enter(lua) };
    let size = stack.number(1) as usize;
    let histogram = Histogram::new(size, stack.number(2), stack.number(3));
    cx.histograms.push(histogram);
    let place = cx.histograms.len();
    // SAFETY: the block is as large as what is written, and Lua aligns it for any value.
    unsafe {
        let block: *mut usize = sys::lua_newuserdata(lua, size_of::<usize>()).cast();
        block.write(place);
        stack.push_kept(cx.histogram_meta.reference);
        sys::lua_setmetatable(lua, -2);
    }
    1
}

/// The histogram at the first argument, if it is one.
fn histogram<'a>(stack: &mut Stack<'_>, cx: &'a mut Context) -> Option<&'a mut Histogram> {
    let block: *mut usize = stack.user_data(1, &cx.histogram_meta)?;
    // SAFETY: `new` has written the place, and the value is on the stack.
    let place = unsafe { block.read() };
    cx.histograms.get_mut(place.checked_sub(1)?)
}

unsafe extern "C-unwind" fn update(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (mut stack, cx) = unsafe { enter(lua) };
    if let Some(histogram) = histogram(&mut stack, cx) {
        histogram.update(stack.number(2));
    }
    0
}

unsafe extern "C-unwind" fn print(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (mut stack, cx) = unsafe { enter(lua) };
    if let Some(histogram) = histogram(&mut stack, cx) {
        log::write_stdout(&histogram.render());
    }
    0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
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
        // As a module in C makes it: a number, as large as the place of a histogram.
        // SAFETY: the state is alive, and the block as large as what is written.
        unsafe {
            let block: *mut usize = sys::lua_newuserdata(state.raw(), size_of::<usize>()).cast();
            block.write(1);
            Stack::new(state.raw()).set_global("foreign");
        }
        let before = state.context().histograms[0].render();
        state.call("refuses_others", &[]).unwrap();
        assert_eq!(state.context().histograms[0].render(), before);
    }
}
