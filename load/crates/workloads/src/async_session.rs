//! A session as one `async` function, which reads from its first step to its last. A state machine
//! would be cut at each answer.
//!
//! There is no runtime, and nothing is woken. [`AsyncSession::next`] polls the function once; it
//! runs until it has left a step for the driver and waits for the next call: [`Driver::step`].

use contend_client::request::LinkNumber;
use contend_engine::workload::{Call, Session, Step};
use contend_wire::Capabilities;
use std::cell::Cell;
use std::convert::Infallible;
use std::pin::Pin;
use std::ptr::NonNull;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// What the function and the driver share of a session: the rest of [`Session`].
pub trait SessionState: 'static {
    /// See [`Session::statement`].
    fn statement(&self) -> String;

    /// See [`Session::kind`].
    fn kind(&self) -> u8 {
        0
    }

    /// See [`Session::put_local_file`].
    fn put_local_file(&mut self, _out: &mut Vec<u8>) {}

    /// See [`Session::due_ns`].
    fn due_ns(&mut self, _cycle: u64, ended_ns: u64) -> u64 {
        ended_ns
    }
}

/// One call of the driver, as long as the function runs for it.
pub struct SessionTurn<'a, S> {
    pub call: &'a Call<'a>,
    pub out: &'a mut Vec<u8>,
    pub state: &'a mut S,
    /// The function's answer.
    pub step: &'a mut Step,
}

/// The turn that goes on; none between turns.
type TurnCell<S> = Rc<Cell<Option<NonNull<SessionTurn<'static, S>>>>>;

pub struct AsyncSession<S: 'static, F> {
    state: S,
    turn: TurnCell<S>,
    function: Pin<Box<F>>,
}

impl<S: SessionState, F: Future<Output = Infallible>> AsyncSession<S, F> {
    /// The session of a function that never returns: after [`Step::Stop`] it is not called again.
    pub fn new(state: S, function: impl FnOnce(Driver<S>) -> F) -> Self {
        let turn = TurnCell::default();
        let driver = Driver {
            turn: Rc::clone(&turn),
        };
        Self {
            state,
            turn,
            function: Box::pin(function(driver)),
        }
    }

    #[cfg(test)]
    pub fn state_mut(&mut self) -> &mut S {
        &mut self.state
    }
}

/// Ends a turn, also if the function panics.
struct EndTurn<'a, S: 'static>(&'a TurnCell<S>);

impl<S> Drop for EndTurn<'_, S> {
    #[inline]
    fn drop(&mut self) {
        self.0.set(None);
    }
}

impl<S: SessionState, F: Future<Output = Infallible>> Session for AsyncSession<S, F> {
    fn next(&mut self, call: Call<'_>, out: &mut Vec<u8>) -> Step {
        let mut step = Step::Stop;
        let mut turn = SessionTurn {
            call: &call,
            out,
            state: &mut self.state,
            step: &mut step,
        };
        self.turn.set(Some(NonNull::from(&mut turn).cast()));
        let end = EndTurn(&self.turn);
        let mut context = Context::from_waker(Waker::noop());
        let polled = self.function.as_mut().poll(&mut context);
        drop(end);
        match polled {
            Poll::Pending => {}
            Poll::Ready(never) => match never {},
        }
        step
    }

    fn statement(&self) -> String {
        self.state.statement()
    }

    fn kind(&self) -> u8 {
        self.state.kind()
    }

    fn put_local_file(&mut self, out: &mut Vec<u8>) {
        self.state.put_local_file(out);
    }

    fn due_ns(&mut self, cycle: u64, ended_ns: u64) -> u64 {
        self.state.due_ns(cycle, ended_ns)
    }
}

/// The function's side of a session. There is one for each session, and it cannot be copied.
pub struct Driver<S: 'static> {
    turn: TurnCell<S>,
}

/// Why the function goes on: a [`Call`] without its borrowed parts.
#[derive(Clone, Copy, Debug)]
pub enum DriverCall {
    Start,
    Connected {
        link: LinkNumber,
        capabilities: Capabilities,
    },
    Lost(LinkNumber),
    Event(u64),
    Broken,
    Answer,
    Woken,
    Finish,
}

impl DriverCall {
    #[inline]
    pub fn of(call: &Call<'_>) -> Self {
        // Nearly all calls that are not answers, which are read apart from this.
        if let Call::Event { cycle, .. } = *call {
            return Self::Event(cycle);
        }
        match *call {
            Call::Start => Self::Start,
            Call::Connected { link, capabilities } => Self::Connected { link, capabilities },
            Call::Lost(link) => Self::Lost(link),
            Call::Event { cycle, .. } => Self::Event(cycle),
            Call::Broken(_) => Self::Broken,
            Call::Answer(_) => Self::Answer,
            Call::Woken => Self::Woken,
            Call::Finish => Self::Finish,
        }
    }
}

impl<S: 'static> Driver<S> {
    /// Uses the turn that goes on. Nothing of it can be kept: the borrows end with `take`.
    #[inline(always)]
    pub fn with<R>(&mut self, take: impl FnOnce(&mut SessionTurn<'_, S>) -> R) -> R {
        let Some(mut turn) = self.turn.get() else {
            no_turn();
        };
        // SAFETY: the cell has a pointer only while `AsyncSession::next` polls, which owns the
        // turn and does not touch it then. Only the one driver reads the cell, and it is borrowed
        // while `take` runs, so there is no second reference. `take` works for every lifetime, so
        // it cannot let a part of the turn escape.
        take(unsafe { turn.as_mut() })
    }

    #[inline(always)]
    pub fn heard(&mut self) -> DriverCall {
        self.with(|turn| DriverCall::of(turn.call))
    }

    /// Does this step. Returns why the driver called next.
    #[inline(always)]
    pub fn step(&mut self, step: Step) -> NextCall<'_, S> {
        self.with(|turn| *turn.step = step);
        self.called()
    }

    /// Waits for the next call; the step is in the turn already.
    #[inline(always)]
    pub fn called(&mut self) -> NextCall<'_, S> {
        NextCall {
            driver: self,
            is_left: false,
        }
    }
}

/// Only a function that gave its driver away gets here.
#[cold]
fn no_turn() -> ! {
    std::process::abort()
}

/// Leaves the function once.
pub struct NextCall<'d, S: 'static> {
    driver: &'d mut Driver<S>,
    is_left: bool,
}

impl<S> Future for NextCall<'_, S> {
    type Output = DriverCall;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<DriverCall> {
        if !self.is_left {
            self.is_left = true;
            return Poll::Pending;
        }
        Poll::Ready(self.driver.heard())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_engine::workload::Answer;
    use std::time::Duration;

    struct Counted(u64);

    impl SessionState for Counted {
        fn statement(&self) -> String {
            format!("{} calls", self.0)
        }
    }

    #[test]
    fn a_function_leaves_a_step_at_each_wait_and_goes_on_with_the_next_call() {
        let mut session = AsyncSession::new(Counted(0), async |mut driver: Driver<Counted>| {
            let mut heard = driver.heard();
            loop {
                driver.with(|turn| turn.state.0 += 1);
                heard = match heard {
                    DriverCall::Event(cycle) => {
                        driver.with(|turn| turn.out.push(cycle as u8));
                        driver.step(Step::Retry(Duration::from_secs(cycle))).await
                    }
                    DriverCall::Lost(link) => driver.step(Step::Disconnect(link)).await,
                    _ => driver.step(Step::Ready).await,
                };
            }
        });
        let mut out = Vec::new();
        let mut next = |call| session.next(call, &mut out);
        assert!(matches!(next(Call::Start), Step::Ready));
        let event = Call::Event {
            cycle: 7,
            late_ns: 0,
            counts: true,
        };
        assert!(matches!(next(event), Step::Retry(pause) if pause.as_secs() == 7));
        assert!(matches!(next(Call::Lost(3)), Step::Disconnect(3)));
        let answer = Answer::default();
        assert!(matches!(next(Call::Answer(&answer)), Step::Ready));
        assert_eq!((out, session.statement()), (vec![7], "4 calls".to_owned()));
    }
}
