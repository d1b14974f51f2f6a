//! One thread that waits for its sockets, its timers and its bell, and does what they ask for.

use super::clock;
use super::engine::Engine;
use super::timers::Timers;
use std::io;

/// Waiting for less than this takes longer than looking again.
const WAIT_NS_MIN: u64 = 1_000;

/// What one thread waits with: sockets, timers, and the clock as it was last read.
pub struct Reactor<E> {
    pub engine: E,
    pub timers: Timers,
    now_ns: u64,
}

/// Whose sockets and timers they are.
pub trait Handler<E: Engine> {
    fn reactor(&mut self) -> &mut Reactor<E>;

    /// Nothing is waited for any more.
    fn is_over(&self) -> bool;

    /// Before each wait: when something is due that is no timer; `u64::MAX` if nothing is.
    fn due_ns(&mut self) -> u64 {
        u64::MAX
    }

    /// The event at `index` of this wait, of [`Engine::event`].
    fn heard(&mut self, index: usize);

    /// All events of this wait were heard: what is due by the clock comes before the timers.
    fn look_at_clock(&mut self) {}

    /// A timer of `token` was due at `at_ns`; `number` is what it was set with.
    fn ring(&mut self, at_ns: u64, token: usize, number: u64);

    /// After the timers, before the next wait.
    fn end_round(&mut self) {}

    /// The kernel cannot wait for the sockets.
    fn broken(&mut self, error: io::Error);
}

impl<E: Engine> Reactor<E> {
    pub fn new(engine: E) -> Self {
        Self {
            engine,
            timers: Timers::default(),
            now_ns: clock::now_ns(),
        }
    }

    /// The clock as it was last read.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Reads the clock.
    #[inline]
    pub fn tick(&mut self) -> u64 {
        self.now_ns = clock::now_ns();
        self.now_ns
    }

    fn wait(&mut self, due_ns: u64) -> io::Result<usize> {
        let due_ns = due_ns.min(self.timers.next_ns().unwrap_or(u64::MAX));
        let timeout = (due_ns != u64::MAX).then(|| match due_ns.saturating_sub(self.now_ns) {
            short if short < WAIT_NS_MIN => 0,
            long => long,
        });
        self.engine.wait(timeout)
    }
}

/// Waits and has everything handled until the handler is over.
pub fn run<E: Engine>(handler: &mut impl Handler<E>) {
    while !handler.is_over() {
        let due_ns = handler.due_ns();
        let waited = handler.reactor().wait(due_ns);
        let events = match waited {
            Ok(events) => events,
            Err(error) => {
                handler.broken(error);
                continue;
            }
        };
        let waited_ns = handler.reactor().now_ns;
        for index in 0..events {
            handler.heard(index);
        }
        // Answers may have read the clock, each for itself, so the last is as good as now.
        let reactor = handler.reactor();
        if reactor.now_ns == waited_ns {
            reactor.tick();
        }
        handler.look_at_clock();
        // What is set from here on belongs to the next round, however soon it is due.
        let due_ns = handler.reactor().now_ns;
        while let Some((at_ns, token, number)) = handler.reactor().timers.pop_due(due_ns) {
            handler.ring(at_ns, token, number);
        }
        handler.end_round();
    }
}
