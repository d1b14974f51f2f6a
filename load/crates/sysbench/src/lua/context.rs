//! State that every function of the interface reaches: one thread of the script, or one of the
//! additional states (the command's, the reports').

use super::figures::ThreadFigures;
use super::fixed::Fixed;
use super::heap::Heap;
use super::histogram::Histogram;
use super::run::Run;
use super::sql::{Connection, DriverFace, HandleKind, OfThread};
use super::stack::{KeptTable, Stack};
use super::sys::lua_State;
use super::thread_io::ThreadIo;
use crate::lua::sys;
use contend_random::Stream;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::time::Instant;

/// The host's side of one Lua state. It never moves: Lua's allocator carries its address.
pub struct Context {
    pub run: Arc<Run>,
    /// Source of the state's memory: its owner frees it when the state is closed.
    pub heap: *mut Heap,
    pub thread: u32,
    pub stream: Stream,
    /// Buffer for texts, so that making one allocates nothing.
    pub text: Vec<u8>,
    /// Number of unique numbers that this thread has drawn.
    pub unique_drawn: u64,
    pub io: Box<dyn ThreadIo>,
    pub connections: Vec<Fixed<Connection>>,
    pub histograms: Vec<Histogram>,
    pub driver: Fixed<DriverFace>,
    pub event: EventClock,
    /// Lua's reference to the NULL result.
    pub null_result: c_int,
    /// The marks of statements' parameters, and of histograms.
    pub param_meta: KeptTable,
    pub histogram_meta: KeptTable,
    /// Lua's own functions and tables, kept from before the script.
    pub originals: Originals,
    /// By kind of handle: the numbers that LuaJIT has for the types of pointers to them.
    pub handle_types: [u16; HandleKind::COUNT],
    /// The error for a script that was stopped from outside, once it was.
    pub stopped: c_int,
}

/// Lua's references to what a script may have put something else in the place of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Originals {
    pub tostring: c_int,
    pub package: c_int,
    pub dump: c_int,
}

/// The thread's position between `event_start` and `event_stop`.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventClock {
    /// When the next event was due; absent under a closed loop.
    pub due: Option<Instant>,
    /// When the running event was due, and when it began.
    pub begun: Option<(Instant, Instant)>,
}

impl Context {
    /// `lowest_of_stack`: the end of the native stack that the state runs on.
    pub fn new(run: Arc<Run>, thread: u32, io: Box<dyn ThreadIo>, lowest_of_stack: usize) -> Self {
        let stream = Stream::new(run.draws.seed, thread.into());
        Self {
            run,
            heap: Box::leak(Box::new(Heap::on(lowest_of_stack))),
            thread,
            stream,
            text: Vec::new(),
            unique_drawn: 0,
            io,
            connections: Vec::new(),
            histograms: Vec::new(),
            driver: Fixed::default(),
            event: EventClock::default(),
            null_result: 0,
            param_meta: KeptTable::default(),
            histogram_meta: KeptTable::default(),
            originals: Originals::default(),
            handle_types: [0; HandleKind::COUNT],
            stopped: 0,
        }
    }

    /// The context of a state.
    ///
    /// # Safety
    /// `lua` is a state of [`super::State`], and its context has no live references yet.
    #[inline]
    pub unsafe fn of<'a>(lua: *mut lua_State) -> &'a mut Self {
        let mut user: *mut c_void = std::ptr::null_mut();
        // SAFETY: the state was made with its context's address as the allocator's own pointer.
        unsafe {
            sys::lua_getallocf(lua, &raw mut user);
            &mut *user.cast()
        }
    }

    /// Keeps what the host needs of Lua's own libraries, which were just opened.
    pub fn keep_originals(&mut self, stack: &mut Stack<'_>) {
        stack.push_raw_global("tostring");
        self.originals.tostring = stack.keep();
        stack.push_raw_global("package");
        self.originals.package = stack.keep();
        stack.push_raw_global("string");
        stack.push_raw_field("dump");
        self.originals.dump = stack.keep();
        stack.pop(1);
    }

    /// True if a driver, connection, statement or result has this address.
    #[cold]
    pub fn has_given_out(&self, address: usize) -> bool {
        self.driver.address().addr() == address
            || self
                .connections
                .iter()
                .any(|one| one.address().addr() == address || one.has_given_out(address))
    }

    pub fn figures(&self) -> &ThreadFigures {
        self.run.figures.of(self.thread)
    }

    /// The parts of this that a connection needs for one call.
    #[inline]
    pub fn session(&mut self) -> OfThread<'_> {
        OfThread {
            figures: self.run.figures.of(self.thread),
            run: &self.run,
            io: &mut *self.io,
        }
    }

    /// Closes what the script left open.
    pub fn close_connections(&mut self) {
        for mut connection in std::mem::take(&mut self.connections) {
            connection.end(&mut self.session());
        }
    }
}
