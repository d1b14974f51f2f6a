//! The Lua states of a run's threads, which a different thread may stop.

use super::sys::lua_State;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The states of the threads of a run, by their numbers.
#[derive(Debug, Default)]
pub struct States {
    places: Mutex<Vec<StateAddress>>,
    called: AtomicU32,
}

#[derive(Clone, Copy, Debug)]
struct StateAddress(*mut lua_State);

// SAFETY: the address is only used under the lock, and for a function that LuaJIT allows other
// threads to call. A state takes its address away before it is closed.
unsafe impl Send for StateAddress {}

impl States {
    /// A thread has this state from now on.
    pub fn enter(&self, thread: u32, lua: *mut lua_State) {
        let (mut places, place) = (self.lock(), thread as usize);
        if places.len() <= place {
            places.resize(place + 1, StateAddress(std::ptr::null_mut()));
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

    /// Calls with each state that is alive; the number is how often this was done before.
    pub fn each(&self, then: impl Fn(*mut lua_State, u32)) {
        let times = self.called.fetch_add(1, Relaxed);
        let places = self.lock();
        for place in places.iter().filter(|place| !place.0.is_null()) {
            then(place.0, times);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<StateAddress>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
