//! The one way into a Lua state from outside: an error that is raised inside becomes a
//! [`ScriptError`].
//!
//! LuaJIT raises errors by unwinding the native stack. If no call of its own is on that stack to
//! catch one, it would reach frames of Rust that cannot, and end the process. So nothing that can
//! raise is called except by functions that Lua calls, and by `work` here.

use super::error::ScriptError;
use super::stack::Stack;
use super::sys::lua_State;
use crate::lua::sys;
use std::ffi::c_int;

/// Data that the two functions called by Lua hand on to each other.
struct Task<T, W> {
    work: Option<W>,
    done: Option<Result<T, ScriptError>>,
}

/// Does `work` on its own stack, which is empty when it begins and is emptied after it.
///
/// # Errors
/// The error that `work` returns, or that was raised in it.
///
/// # Safety
/// `lua` is a live state, and no reference to its context is held.
pub unsafe fn protected<T, W>(lua: *mut lua_State, work: W) -> Result<T, ScriptError>
where
    W: FnOnce(&mut Stack<'_>) -> Result<T, ScriptError>,
{
    let mut task = Task {
        work: Some(work),
        done: None,
    };
    // SAFETY: the task outlives the call, which allocates and raises nothing outside of itself.
    let failed = unsafe { sys::lua_cpcall(lua, begin::<T, W>, (&raw mut task).cast()) } != 0;
    if failed {
        // SAFETY: one value is on top that was raised. If it is text it is there as text.
        return Err(unsafe { take_plain_error(lua) });
    }
    let nothing = || Err(ScriptError("it returned nothing".to_owned()));
    task.done.unwrap_or_else(nothing)
}

/// Calls the work so that what it raises can be made words of, which may raise again.
unsafe extern "C-unwind" fn begin<T, W>(lua: *mut lua_State) -> c_int
where
    W: FnOnce(&mut Stack<'_>) -> Result<T, ScriptError>,
{
    // SAFETY: Lua calls with its state, and with the address of the task.
    let (mut stack, user) = unsafe { (Stack::new(lua), sys::lua_touserdata(lua, 1)) };
    stack.push_function(go_on::<T, W>);
    stack.push_address(user);
    if let Err(error) = stack.call(1, 0) {
        // SAFETY: the task is alive until `protected` returns, and nothing else refers to it now.
        unsafe { (*user.cast::<Task<T, W>>()).done = Some(Err(error)) };
    }
    0
}

unsafe extern "C-unwind" fn go_on<T, W>(lua: *mut lua_State) -> c_int
where
    W: FnOnce(&mut Stack<'_>) -> Result<T, ScriptError>,
{
    // SAFETY: Lua calls with its state, and with the address that `begin` has pushed.
    let (mut stack, user) = unsafe { (Stack::new(lua), sys::lua_touserdata(lua, 1)) };
    let task: *mut Task<T, W> = user.cast();
    stack.pop(1);
    // SAFETY: the task is alive until `protected` returns. No reference to it is held while the
    // work runs, which may never come back.
    unsafe {
        if let Some(work) = (*task).work.take() {
            let done = work(&mut stack);
            (*task).done = Some(done);
        }
    }
    0
}

/// An error raised outside of the work itself: memory or stack was short.
///
/// # Safety
/// `lua` is a live state with a value on top of its stack.
unsafe fn take_plain_error(lua: *mut lua_State) -> ScriptError {
    let mut length = 0;
    // SAFETY: text is read in place, without allocating; anything else is not asked for its text.
    unsafe {
        let words = (sys::lua_type(lua, -1) == sys::LUA_TSTRING).then(|| {
            let bytes = sys::lua_tolstring(lua, -1, &raw mut length);
            let bytes = std::slice::from_raw_parts(bytes.cast::<u8>(), length);
            String::from_utf8_lossy(bytes).into_owned()
        });
        sys::lua_settop(lua, -2);
        ScriptError(words.unwrap_or_else(|| "(not a string)".to_owned()))
    }
}
