//! Runs a thread of a script on a native stack of its own, which is left while the thread waits.
//!
//! To the script every call blocks: it returns when the answer is there. Meanwhile the worker runs
//! other sessions. The whole native stack is left, and not only a Lua coroutine. So a script can
//! wait anywhere: inside `string.gsub`, a comparison of `table.sort`, or a coroutine of its own.
//!
//! The setup of a thread needs more stack than its events. When the setup has returned, the stack
//! is empty and its memory is given back to the kernel. The rest of the thread then runs on the
//! same stack.

use super::figures::ThreadFigures;
use super::native_stack::STACK_BYTES;
use super::run::Run;
use super::state::State;
use super::thread_io::{Answered, Connected, ThreadIo, Turn, client_error};
use crate::lua::thread;
use contend_client::request::{Class, LinkNumber, Reply, Request};
use contend_engine::workload::{Call, EventTimes, Session, Step};
use contend_figures::outcome::Failure;
use contend_wire::ServerError;
use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A thread that never waits lets the others go on after this long.
const SLICE: Duration = Duration::from_micros(200);

/// Data that the driver passes to a fiber to resume it. Both pointers are valid until the fiber
/// waits again.
#[derive(Clone, Copy)]
struct Wake {
    call: *const Call<'static>,
    out: *mut Vec<u8>,
}

type Body = Coroutine<Wake, Step, FiberLeft>;

/// The result of a coroutine that has ended.
enum FiberLeft {
    /// The setup is done. The rest of the thread can begin: the stack is empty.
    SetUp(State),
    /// It failed, with a message, before the load began.
    NotReady,
    Ended,
}

/// One thread of a script as a session of the driver.
pub struct Fiber {
    life: FiberLife,
    /// None once the thread has ended.
    body: Option<Body>,
}

/// State that a fiber keeps from its setup to its end.
struct FiberLife {
    run: Arc<Run>,
    thread: u32,
    /// The statement that is being executed, to be quoted as an example with its error.
    about: Box<About>,
}

/// Points to a text that stays alive while the fiber waits; null if no statement is executed.
#[derive(Debug)]
struct About {
    text: *const u8,
    length: usize,
}

impl Fiber {
    /// # Errors
    /// If there is not enough memory for one more stack.
    pub fn new(run: Arc<Run>, thread: u32) -> Result<Self, Failure> {
        let stack = DefaultStack::new(STACK_BYTES).map_err(|error| {
            Failure::with_hint(
                format!("no stack for one more thread of the script: {error}"),
                "check the limits of memory and of mappings (vm.max_map_count)",
            )
        })?;
        let life = FiberLife {
            run,
            thread,
            about: Box::new(About {
                text: std::ptr::null(),
                length: 0,
            }),
        };
        Ok(Self::on(stack, life))
    }

    fn on(stack: DefaultStack, mut life: FiberLife) -> Self {
        keep_pages_small(&stack);
        let body = Some(life.set_up(stack));
        Self { life, body }
    }

    /// The last frame has returned.
    #[cold]
    fn returned(&mut self, left: FiberLeft, wake: Wake) -> Step {
        let stack = self.body.take().map(Coroutine::into_stack);
        match (left, stack) {
            (FiberLeft::SetUp(state), Some(mut stack)) => {
                give_back(&mut stack);
                let body = self.body.insert(self.life.go_on(stack, state));
                match body.resume(wake) {
                    CoroutineResult::Yield(step) => step,
                    CoroutineResult::Return(left) => self.returned(left, wake),
                }
            }
            (FiberLeft::NotReady, _) => Step::Fail(Box::new(Failure::plain(NOT_READY))),
            _ => Step::Stop,
        }
    }
}

impl FiberLife {
    /// The setup, which goes deeper than events do: it runs the body of the script.
    fn set_up(&mut self, stack: DefaultStack) -> Body {
        let (run, about) = (Arc::clone(&self.run), &raw mut *self.about);
        let (thread, lowest) = (self.thread, stack.limit().get());
        Coroutine::with_stack(stack, move |yielder: &Yielder<Wake, Step>, wake| {
            let io = FiberIo::new(yielder, wake, about, &run, lowest);
            match thread::begin_events(&run, thread, Box::new(io)) {
                Some(state) => FiberLeft::SetUp(state),
                None => FiberLeft::NotReady,
            }
        })
    }

    /// Everything after the setup.
    fn go_on(&mut self, stack: DefaultStack, mut state: State) -> Body {
        let (run, about) = (Arc::clone(&self.run), &raw mut *self.about);
        let (thread, lowest) = (self.thread, stack.limit().get());
        Coroutine::with_stack(stack, move |yielder: &Yielder<Wake, Step>, wake| {
            let mut io = FiberIo::new(yielder, wake, about, &run, lowest);
            io.over = state.context().io.is_over();
            state.context().io = Box::new(io);
            thread::go_on(state, &run, thread);
            FiberLeft::Ended
        })
    }
}

/// A thread touches a few kilobytes of its stack: no huge page may come of the first.
fn keep_pages_small(stack: &DefaultStack) {
    // SAFETY: the contents stay. If it is refused only memory is lost.
    unsafe { advise(stack, libc::MADV_NOHUGEPAGE) }
}

/// Gives back the memory of a stack on which nothing lives.
fn give_back(stack: &mut DefaultStack) {
    // SAFETY: nothing lives there, and it reads as zeroes when it is touched again. If it is
    // refused all stays.
    unsafe { advise(stack, libc::MADV_DONTNEED) }
}

/// # Safety
/// Who borrows the stack can do with what the advice makes of its memory.
unsafe fn advise(stack: &DefaultStack, advice: libc::c_int) {
    let (lowest, base) = (stack.limit().get(), stack.base().get());
    // SAFETY: the mapping is the stack's own; the caller promises the rest.
    unsafe {
        let lowest = std::ptr::with_exposed_provenance_mut(lowest);
        libc::madvise(lowest, base - lowest.addr(), advice);
    }
}

impl Session for Fiber {
    fn next(&mut self, call: Call<'_>, out: &mut Vec<u8>) -> Step {
        let Some(body) = &mut self.body else {
            return Step::Stop;
        };
        let wake = Wake {
            call: (&raw const call).cast(),
            out,
        };
        match body.resume(wake) {
            CoroutineResult::Yield(step) => step,
            CoroutineResult::Return(left) => self.returned(left, wake),
        }
    }

    fn statement(&self) -> String {
        let about = &self.life.about;
        if about.text.is_null() {
            return String::new();
        }
        // SAFETY: it is set while the fiber waits, and points to what the fiber keeps meanwhile.
        let text = unsafe { std::slice::from_raw_parts(about.text, about.length) };
        String::from_utf8_lossy(text).into_owned()
    }
}

/// The error of a run if one of its threads could not start. The thread has logged the reason.
pub const NOT_READY: &str = "Thread initialization failed!";

impl Drop for Fiber {
    fn drop(&mut self) {
        if let Some(body) = &mut self.body
            && !body.done()
        {
            // The run was cut off while the script waits. Frames of C and Lua must not be
            // unwound, so what they hold is only freed when the process ends.
            // SAFETY: nothing refers to the stack but the fiber itself.
            unsafe { body.force_reset() };
        }
    }
}

/// The [`ThreadIo`] of a fiber: to wait, it leaves the fiber's stack.
struct FiberIo {
    yielder: *const Yielder<Wake, Step>,
    wake: Wake,
    about: *mut About,
    run: Arc<Run>,
    /// Set if the driver has let an event begin that [`ThreadIo::next_event`] has not returned
    /// yet: for how many ns it has been due.
    offered: Option<u64>,
    /// The event in progress was to begin inside the window.
    counts: bool,
    /// The event that ended since the last turn, if it is to be recorded.
    ended: Option<EventTimes>,
    over: bool,
    /// When the fiber last let others run although it had nothing to wait for.
    waited: Instant,
    /// The fiber has waited for an answer or slept since the last turn.
    asked_since: bool,
    lowest_of_stack: usize,
}

impl FiberIo {
    fn new(
        yielder: &Yielder<Wake, Step>,
        wake: Wake,
        about: *mut About,
        run: &Arc<Run>,
        lowest_of_stack: usize,
    ) -> Self {
        Self {
            yielder: std::ptr::from_ref(yielder),
            wake,
            about,
            run: Arc::clone(run),
            offered: None,
            counts: false,
            ended: None,
            over: false,
            waited: Instant::now(),
            asked_since: false,
            lowest_of_stack,
        }
    }

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

    /// Why no more events begin: the time is over, or all events have begun. `run.stop` is set
    /// before the driver resumes the fiber.
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

    /// Waits until the driver lets an event begin; returns for how many ns it has been due. None
    /// if no more events begin.
    fn wait_for_leave(&mut self, step: Step) -> Option<u64> {
        let mut step = step;
        loop {
            match self.wait(step) {
                Call::Event {
                    late_ns, counts, ..
                } => {
                    let (late_ns, counts) = (*late_ns, *counts);
                    self.counts = counts;
                    return Some(late_ns);
                }
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

impl ThreadIo for FiberIo {
    fn connect(&mut self, endpoint: usize) -> Result<Connected, ServerError> {
        let endpoint = u16::try_from(endpoint).unwrap_or(0);
        match self.wait(Step::Connect(endpoint)) {
            Call::Connected { link, capabilities } => Ok(Connected {
                link: *link,
                capabilities: *capabilities,
            }),
            Call::Broken(error) => Err((*error).clone()),
            _ => Err(client_error(
                client_error::LOST,
                "the run ended during connecting",
            )),
        }
    }

    fn disconnect(&mut self, link: LinkNumber) {
        self.wait(Step::Disconnect(link));
    }

    fn exchange(
        &mut self,
        link: LinkNumber,
        reply: Reply,
        about: &[u8],
        write: &mut dyn FnMut(&mut Vec<u8>),
        bytes: &mut Vec<u8>,
    ) -> Result<Answered, ServerError> {
        write(self.out());
        let class = match reply {
            Reply::Counts | Reply::Changed | Reply::Several(_) | Reply::Whole => Class::ByAnswer,
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
            ends: None,
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
                client_error::LOST,
                "the run ended before the answer arrived",
            )),
        };
        // SAFETY: as above. The text is the caller's again.
        unsafe { (*self.about).text = std::ptr::null() };
        self.asked_since = true;
        answered
    }

    fn sleep(&mut self, span: Duration) {
        let due = Instant::now() + span;
        let mut left = span;
        loop {
            // Also a sleep of no time lets the others go on, and the worker see the end of the run.
            // The end does not shorten a sleep of the script. If that takes too long, the driver
            // cuts the run off.
            if let Call::Finish = self.wait(Step::Sleep(left)) {
                self.over = true;
            }
            left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
        }
        self.asked_since = true;
    }

    fn event_ended(&mut self, due: Instant, times: EventTimes, figures: &ThreadFigures) {
        if !self.counts {
            return figures.leave();
        }
        figures.finish(due, times.response_ns);
        // A script with its own loop may have several events in one turn.
        if let Some(earlier) = self.ended.replace(times) {
            self.wait(Step::EventMore(earlier));
        }
    }

    fn next_event(&mut self) -> Turn {
        if self.over && self.ended.is_none() {
            return self.end();
        }
        if !self.asked_since && self.waited.elapsed() > SLICE {
            // Events that never wait must not keep the other sessions from running.
            if let Call::Finish = self.wait(Step::Sleep(Duration::ZERO)) {
                self.over = true;
                return self.end();
            }
            self.waited = Instant::now();
        }
        self.asked_since = false;
        let step = match self.ended.take() {
            Some(times) => Step::EventTimed(times),
            None => Step::EventDropped,
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
        self.offered = self.wait_for_leave(Step::Ready);
    }

    fn lowest_of_stack(&self) -> Option<usize> {
        Some(self.lowest_of_stack)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::lua::testing::run_of;

    /// Number of pages of these addresses that are in memory.
    fn resident(lowest: usize, base: usize) -> usize {
        // SAFETY: asks for a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap();
        let mut pages = vec![0u8; (base - lowest) / page];
        // SAFETY: the addresses are those of a mapping, and there is a byte for each of its pages.
        let asked = unsafe {
            let lowest = std::ptr::with_exposed_provenance_mut(lowest);
            libc::mincore(lowest, base - lowest.addr(), pages.as_mut_ptr())
        };
        assert_eq!(asked, 0);
        pages.iter().filter(|page| **page & 1 == 1).count()
    }

    /// Goes on after the sleeps, each of the requested length.
    fn woken(fiber: &mut Fiber, mut step: Step, out: &mut Vec<u8>) -> Step {
        while let Step::Sleep(span) = step {
            std::thread::sleep(span);
            step = fiber.next(Call::Woken, out);
        }
        step
    }

    /// A script whose body uses much of the native stack. At the deepest point it sleeps, so that
    /// the test can look, and long enough that the sleep cannot be over before it begins.
    const DEEP: &str = "
        local depth = 0
        local function deeper()
          depth = depth + 1
          if depth < 30 then
            ('x'):gsub('x', deeper)
          else
            ffi.C.usleep(1000000)
          end
        end
        deeper()
        function event() end
    ";

    #[test]
    fn what_the_setup_took_of_the_stack_is_given_back() {
        let stack = DefaultStack::new(STACK_BYTES).unwrap();
        let (lowest, base) = (stack.limit().get(), stack.base().get());
        let life = FiberLife {
            run: run_of(DEEP, 1),
            thread: 0,
            about: Box::new(About {
                text: std::ptr::null(),
                length: 0,
            }),
        };
        let mut fiber = Fiber::on(stack, life);
        let mut out = Vec::new();
        let mut step = fiber.next(Call::Start, &mut out);
        let deepest = resident(lowest, base);
        step = woken(&mut fiber, step, &mut out);
        assert!(matches!(step, Step::Ready), "{step:?}");
        let left = resident(lowest, base);
        assert!(deepest > 8 && left <= 2, "{deepest} pages, {left} left");
        // An event is offered, ended by the script's loop, and the next one asked for.
        for cycle in 0..3 {
            step = fiber.next(
                Call::Event {
                    cycle,
                    late_ns: 0,
                    counts: true,
                },
                &mut out,
            );
            // The kernel may take the CPU away for longer than a slice.
            step = woken(&mut fiber, step, &mut out);
            assert!(matches!(step, Step::EventTimed(_)), "{step:?}");
        }
        step = fiber.next(Call::Finish, &mut out);
        assert!(matches!(step, Step::Stop), "{step:?}");
    }
}
