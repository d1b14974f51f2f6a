//! Scripts that compute without end are stopped from outside.
//!
//! LuaJIT calls a hook after so many instructions, and the hook may be set by another thread: its
//! machine code looks for one in every loop, as it is built here.

use super::context::Context;
use super::stack::Stack;
use super::sys::{self, lua_State};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Instructions after which a script that has not come to a wait computes without end: at the end
/// of a run, those that only clean up need fewer. Each further time it is a tenth, because some
/// instructions take long.
const INSTRUCTIONS: c_int = 100_000;

/// The states of the threads of a run, by their numbers.
#[derive(Debug, Default)]
pub struct States {
    places: Mutex<Vec<Place>>,
    stopped: AtomicU32,
}

#[derive(Clone, Copy, Debug)]
struct Place(*mut lua_State);

// SAFETY: the address is only used under the lock, and for a function that LuaJIT allows other
// threads to call. A state takes its address away before it is closed.
unsafe impl Send for Place {}

impl States {
    /// A thread has this state from now on.
    pub fn enter(&self, thread: u32, lua: *mut lua_State) {
        let (mut places, place) = (self.lock(), thread as usize);
        if places.len() <= place {
            places.resize(place + 1, Place(std::ptr::null_mut()));
        }
        if let Some(place) = places.get_mut(place) {
            place.0 = lua;
        }
    }

    /// The state is about to be closed.
    pub fn leave(&self, thread: u32, lua: *mut lua_State) {
        if let Some(place) = self.lock().get_mut(thread as usize)
            && place.0 == lua
        {
            place.0 = std::ptr::null_mut();
        }
    }

    /// Stops what computes without end: it fails with an error. What waits is left alone. To be
    /// called again until it has ended: a finaliser that runs may undo it.
    pub fn stop(&self) {
        let times = self.stopped.fetch_add(1, Relaxed);
        let instructions = INSTRUCTIONS / 10i32.saturating_pow(times);
        let places = self.lock();
        for place in places.iter().filter(|place| !place.0.is_null()) {
            // SAFETY: the state is alive while the lock is held. LuaJIT made the function for
            // other threads and handlers of signals.
            unsafe { sys::lua_sethook(place.0, stop, sys::LUA_MASKCOUNT, instructions.max(1)) };
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The hook: raises an error, and again at every instruction that still follows, so that no pcall
/// in a loop goes on.
unsafe extern "C-unwind" fn stop(lua: *mut lua_State, _event: *mut c_void) {
    // SAFETY: Lua calls with its state, of which no function of the interface runs now.
    unsafe {
        let mut stack = Stack::new(lua);
        let stopped = Context::of(lua).stopped;
        if stopped > 0 {
            stack.push_kept(stopped);
            sys::lua_error(lua);
            return;
        }
        sys::luaL_where(lua, 0);
        stack.push_bytes(b"stopped: the run is over, and it went on without end");
        sys::lua_concat(lua, 2);
        stack.push_copy(-1);
        let reference = stack.keep();
        Context::of(lua).stopped = reference;
        sys::lua_sethook(lua, stop, sys::LUA_MASKCOUNT, 1);
        sys::lua_error(lua);
    }
}
