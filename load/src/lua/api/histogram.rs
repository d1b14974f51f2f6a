//! `sysbench.histogram`. A histogram lives as long as its state.

use super::{Entry, Pushed, enter};
use crate::lua::histogram::Histogram;
use crate::lua::log;
use crate::lua::stack::Stack;
use crate::lua::sys::{self, lua_State};

pub const FUNCTIONS: &[Entry] = &[
    (c"histogram_new", new),
    (c"histogram_update", update),
    (c"histogram_print", print),
];

/// `histogram_new(size, lowest, highest, metatable)`.
unsafe extern "C-unwind" fn new(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (stack, cx) = unsafe { enter(lua) };
    let size = stack.number(1) as usize;
    let histogram = Histogram::new(size, stack.number(2), stack.number(3));
    cx.histograms.push(histogram);
    let place = cx.histograms.len();
    // SAFETY: the block is as large as what is written, and Lua aligns it for any value. The
    // metatable is the fourth argument.
    unsafe {
        let block: *mut usize = sys::lua_newuserdata(lua, size_of::<usize>()).cast();
        block.write(place);
        sys::lua_pushvalue(lua, 4);
        sys::lua_setmetatable(lua, -2);
    }
    1
}

/// The histogram at the first argument, if it is one.
fn histogram(stack: Stack, histograms: &mut [Histogram]) -> Option<&mut Histogram> {
    if stack.kind(1) != sys::LUA_TUSERDATA {
        return None;
    }
    // SAFETY: the value is user data; its size is compared before it is read.
    let place = unsafe {
        if sys::lua_objlen(stack.raw(), 1) != size_of::<usize>() {
            return None;
        }
        sys::lua_touserdata(stack.raw(), 1).cast::<usize>().read()
    };
    histograms.get_mut(place.checked_sub(1)?)
}

unsafe extern "C-unwind" fn update(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (stack, cx) = unsafe { enter(lua) };
    if let Some(histogram) = histogram(stack, &mut cx.histograms) {
        histogram.update(stack.number(2));
    }
    0
}

unsafe extern "C-unwind" fn print(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (stack, cx) = unsafe { enter(lua) };
    if let Some(histogram) = histogram(stack, &mut cx.histograms) {
        log::write_stdout(&histogram.render());
    }
    0
}
