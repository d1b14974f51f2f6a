//! A thread of a script on a native stack of its own, which it leaves while it waits.
//!
//! The script calls, and its call returns when the answer is there, as if it had blocked; in
//! between the worker runs other sessions. Leaving the whole native stack, and not only a Lua
//! coroutine, is what lets a script wait anywhere: inside `string.gsub`, inside a comparison of
//! `table.sort`, inside a coroutine of its own.

use super::ground::{Answered, Connected, Ground, Turn, client_error};
use super::run::Run;
use super::thread::{self, Duty, End};
use crate::outcome::Failure;
use crate::wire::ServerError;
use crate::workload::{Call, Class, Link, Reply, Request, Session, Step};
use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Room of a native stack. Only what is touched becomes memory: some twelve kilobytes. LuaJIT's
/// compiler, its library and the C library's printing fit well.
const STACK_BYTES: usize = 512 * 1024;
/// More than the rest of this frame and that of a call of the C library.
const FRAMES_BYTES: usize = 1024;
/// A thread that never waits lets the others go on after this long.
const SLICE: Duration = Duration::from_micros(200);

/// What a fiber wakes up to. Both pointers hold until it waits again.
#[derive(Clone, Copy)]
struct Wake {
    call: *const Call<'static>,
    out: *mut Vec<u8>,
}

type Body = Coroutine<Wake, Step, End>;

/// One thread of a script as a session of the driver.
pub struct Fiber {
    body: Body,
    /// The statement that the fiber asks at present, as an example beside its error.
    about: Box<About>,
    end: Option<End>,
}

/// Text that lives on the fiber's stack while the fiber waits.
#[derive(Debug)]
struct About {
    text: *const u8,
    length: usize,
}

impl Fiber {
    /// # Errors
    /// Where no memory can be had for one more stack.
    pub fn new(run: Arc<Run>, thread: u32, lane: usize, duty: Duty) -> Result<Self, Failure> {
        let stack = DefaultStack::new(STACK_BYTES).map_err(|error| Failure {
            message: format!("no stack for one more thread of the script: {error}"),
            hint: Some("see the limits of memory and of mappings (vm.max_map_count)".to_owned()),
            code: None,
            sqlstate: None,
            statement: None,
        })?;
        let mut about = Box::new(About {
            text: std::ptr::null(),
            length: 0,
        });
        let about_pointer = &raw mut *about;
        let lowest = stack.limit().get();
        let body = Coroutine::with_stack(stack, move |yielder: &Yielder<Wake, Step>, wake| {
            let ground = FiberGround {
                yielder: std::ptr::from_ref(yielder),
                wake,
                about: about_pointer,
                lowest,
                run: Arc::clone(&run),
                offered: None,
                over: false,
                waited: Instant::now(),
                asked_since: false,
            };
            thread::live(&run, thread, lane, duty, Box::new(ground))
        });
        Ok(Self {
            body,
            about,
            end: None,
        })
    }
}

impl Session for Fiber {
    fn next(&mut self, call: Call<'_>, out: &mut Vec<u8>) -> Step {
        if self.end.is_some() {
            return Step::Stop;
        }
        let wake = Wake {
            call: (&raw const call).cast(),
            out,
        };
        match self.body.resume(wake) {
            CoroutineResult::Yield(step) => step,
            CoroutineResult::Return(end) => {
                self.end = Some(end);
                match end {
                    End::NotReady => Step::Fail(Box::new(Failure {
                        message: NOT_READY.to_owned(),
                        hint: None,
                        code: None,
                        sqlstate: None,
                        statement: None,
                    })),
                    End::Done | End::Failed => Step::Stop,
                }
            }
        }
    }

    fn statement(&self) -> String {
        if self.about.text.is_null() {
            return String::new();
        }
        // SAFETY: it is set while the fiber waits, and points to what the fiber keeps meanwhile.
        let text = unsafe { std::slice::from_raw_parts(self.about.text, self.about.length) };
        String::from_utf8_lossy(text).into_owned()
    }
}

/// What a run fails with where a thread could not begin. The thread has said why.
pub const NOT_READY: &str = "Thread initialization failed!";

impl Drop for Fiber {
    fn drop(&mut self) {
        if !self.body.done() {
            // The run was cut off while the script waits. Its frames are C's and Lua's: they
            // must not be unwound, so what they hold is left to the end of the process.
            // SAFETY: nothing refers to the stack but the fiber itself.
            unsafe { self.body.force_reset() };
        }
    }
}

/// The ground under a fiber.
struct FiberGround {
    yielder: *const Yielder<Wake, Step>,
    wake: Wake,
    about: *mut About,
    /// The low end of the fiber's stack.
    lowest: usize,
    run: Arc<Run>,
    /// An event that no turn has taken yet: for how many ns it was due.
    offered: Option<u64>,
    over: bool,
    /// When the fiber last let others go on without having to.
    waited: Instant,
    /// It has waited for something since the last turn.
    asked_since: bool,
}

impl FiberGround {
    /// Leaves the stack until the driver has carried out `step`; returns why it calls.
    #[inline]
    fn wait(&mut self, step: Step) -> &Call<'static> {
        // SAFETY: the yielder lives as long as the fiber's body, which this is part of. What the
        // driver passes holds until the next wait, and the result is borrowed no longer.
        unsafe {
            self.wake = (*self.yielder).suspend(step);
            &*self.wake.call
        }
    }

    /// Why the driver lets no more events begin: it was told of the end of the time before.
    fn end(&self) -> Turn {
        match self.run.stop.is_over() {
            true => Turn::Over,
            false => Turn::Done,
        }
    }

    fn out(&mut self) -> &mut Vec<u8> {
        // SAFETY: as in `wait`: it holds until the fiber waits.
        unsafe { &mut *self.wake.out }
    }

    /// Waits for the driver's leave to begin an event; for how many ns that was due.
    fn wait_for_leave(&mut self, step: Step) -> Option<u64> {
        let mut step = step;
        loop {
            match self.wait(step) {
                Call::Event { late_ns, .. } => return Some(*late_ns),
                Call::Finish => {
                    self.over = true;
                    return None;
                }
                // Nothing else is due between events; if it comes, wait on.
                _ => step = Step::Ready,
            }
        }
    }
}

/// Gives back the pages of the stack in use that the setup needed and its frames have left: the
/// body of a script goes deeper than its events do.
fn give_back_below(lowest: usize) {
    let here = 0u8;
    // SAFETY: asks for a number, and answers -1 where it does not know it.
    let Ok(page_bytes) = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }) else {
        return;
    };
    let page = page_bytes - 1;
    let below = (&raw const here).addr() - FRAMES_BYTES;
    let (from, to) = ((lowest + page) & !page, below & !page);
    if from < to {
        // SAFETY: the stack grows down, so what lies so far below `here` belongs to no frame; it
        // reads as zeroes when it is touched again. Where it is refused all stays.
        unsafe { libc::madvise(from as *mut libc::c_void, to - from, libc::MADV_DONTNEED) };
    }
}

impl Ground for FiberGround {
    fn connect(&mut self, endpoint: usize) -> Result<Connected, ServerError> {
        let endpoint = u16::try_from(endpoint).unwrap_or(0);
        match self.wait(Step::Connect(endpoint)) {
            Call::Connected { link, agreed } => Ok(Connected {
                link: *link,
                capabilities: agreed.capabilities,
            }),
            Call::Broken(error) => Err((*error).clone()),
            _ => Err(client_error(
                client_error::SERVER_LOST,
                "the run ended while it connected",
            )),
        }
    }

    fn disconnect(&mut self, link: Link) {
        self.wait(Step::Disconnect(link));
    }

    fn exchange(
        &mut self,
        link: Link,
        reply: Reply,
        about: &[u8],
        write: &mut dyn FnMut(&mut Vec<u8>),
        bytes: &mut Vec<u8>,
    ) -> Result<Answered, ServerError> {
        write(self.out());
        let class = match reply {
            Reply::Counts | Reply::Whole => Class::ByAnswer,
            Reply::Prepared | Reply::Nothing => Class::Uncounted,
        };
        // SAFETY: the session keeps the box as long as the fiber.
        unsafe {
            (*self.about).text = about.as_ptr();
            (*self.about).length = about.len();
        }
        let call = self.wait(Step::Send(Request {
            link,
            class,
            reply,
            ends: false,
        }));
        let answered = match call {
            Call::Answer(answer) => {
                if reply == Reply::Whole {
                    bytes.extend_from_slice(answer.bytes.unwrap_or_default());
                }
                Ok(Answered {
                    error: answer.error.cloned().map(Box::new),
                    summary: answer.summary,
                    prepared: answer.prepared,
                })
            }
            Call::Broken(error) => Err((*error).clone()),
            _ => Err(client_error(
                client_error::SERVER_LOST,
                "the run ended before the answer came",
            )),
        };
        // SAFETY: as above. The text is the caller's again.
        unsafe { (*self.about).text = std::ptr::null() };
        self.asked_since = true;
        answered
    }

    fn sleep(&mut self, span: Duration) {
        let due = Instant::now() + span;
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            // The end of the run does not shorten what the script asked for; the driver does,
            // where it takes too long.
            if let Call::Finish = self.wait(Step::Sleep(left)) {
                self.over = true;
            }
        }
        self.asked_since = true;
    }

    fn next_event(&mut self, counted: bool) -> Turn {
        if self.over {
            return self.end();
        }
        if !self.asked_since && self.waited.elapsed() > SLICE {
            // An event that asks nothing must not keep the others from theirs.
            if let Call::Finish = self.wait(Step::Sleep(Duration::ZERO)) {
                self.over = true;
                return self.end();
            }
            self.waited = Instant::now();
        }
        self.asked_since = false;
        let step = match counted {
            true => Step::EventEnd,
            false => Step::EventDropped,
        };
        let late_ns = self.offered.take().or_else(|| self.wait_for_leave(step));
        match late_ns {
            None => self.end(),
            // Under a closed loop an event begins when the script begins it.
            Some(_) if self.run.dispenser.schedule().is_none() => Turn::Event(None),
            Some(late_ns) => {
                let late = Duration::from_nanos(late_ns);
                Turn::Event(Instant::now().checked_sub(late))
            }
        }
    }

    fn is_over(&self) -> bool {
        self.over || self.run.stop.is_over()
    }

    fn ready(&mut self) {
        give_back_below(self.lowest);
        self.offered = self.wait_for_leave(Step::Ready);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaves a mark far down the stack; returns where.
    #[inline(never)]
    fn leave_a_mark() -> usize {
        let mut deep = [0u8; 64 * 1024];
        std::hint::black_box(&mut deep).fill(7);
        deep.as_ptr().addr()
    }

    #[test]
    fn what_frames_have_left_is_given_back_and_those_that_stand_keep_theirs() {
        let found = DefaultStack::new(STACK_BYTES).map(|stack| {
            let lowest = stack.limit().get();
            let mut body = Coroutine::<(), (), u8>::with_stack(stack, move |_, ()| {
                let standing = std::hint::black_box([5u8; 512]);
                let mark = leave_a_mark();
                give_back_below(lowest);
                assert_eq!(standing, [5; 512]);
                // SAFETY: the stack is mapped and stays so; a byte may hold anything.
                unsafe { (mark as *const u8).read_volatile() }
            });
            matches!(body.resume(()), CoroutineResult::Return(0))
        });
        assert_eq!(found.ok(), Some(true));
    }
}
