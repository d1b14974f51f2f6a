//! Scripts that compute without end are stopped from outside.
//!
//! LuaJIT calls a hook after a given number of instructions. A different thread may set the hook:
//! LuaJIT is built here so that its machine code looks for one in every loop.

use super::context::Context;
use super::stack::Stack;
use super::states::States;
use super::sys::lua_State;
use crate::lua::sys;
use std::ffi::{c_int, c_void};

/// Instructions after which a script that has not come to a wait computes without end. At the end
/// of a run, a script that only cleans up needs fewer. Each further time it is a tenth, because
/// some instructions take long.
const INSTRUCTIONS: c_int = 100_000;

/// Stops scripts that compute without end: they fail with an error. Waiting ones are left alone. To
/// be called again until it has ended: a finaliser that runs may undo it.
pub fn stop(states: &States) {
    states.each(|lua, times| {
        let instructions = INSTRUCTIONS / 10i32.saturating_pow(times);
        // SAFETY: the state is alive while it is lent here. LuaJIT made the function for other
        // threads and handlers of signals.
        unsafe { sys::lua_sethook(lua, raise, sys::LUA_MASKCOUNT, instructions.max(1)) };
    });
}

/// The hook: raises an error, and again at every instruction that still follows, so that no pcall
/// in a loop goes on.
unsafe extern "C-unwind" fn raise(lua: *mut lua_State, _event: *mut c_void) {
    // SAFETY: Lua calls with its state, and no function of the interface runs in it now.
    unsafe {
        let mut stack = Stack::new(lua);
        let stopped = Context::of(lua).stopped;
        if stopped > 0 {
            stack.push_kept(stopped);
            sys::lua_error(lua);
            return;
        }
        sys::luaL_where(lua, 0);
        stack.push_bytes(b"stopped: the run is over, and the function did not return");
        sys::lua_concat(lua, 2);
        stack.push_copy(-1);
        let reference = stack.keep();
        Context::of(lua).stopped = reference;
        sys::lua_sethook(lua, raise, sys::LUA_MASKCOUNT, 1);
        sys::lua_error(lua);
    }
}
