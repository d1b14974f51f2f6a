//! One session on its connection, and its slots: the events that are in progress on it.

use crate::workload::{Call, Session};
use contend_plan::DEPTH_MAX;

/// A session with the times and counts that the driver keeps for it.
pub struct Seat {
    pub session: Box<dyn Session>,
    /// Tokens of its links, by their number.
    pub tokens: Vec<usize>,
    /// Its index in the run, the same in each arm.
    pub index: u32,
    pub arm: u16,
    /// It holds a connection and asks nothing, throughout.
    pub is_idle: bool,
    /// Its session judges errors itself.
    pub judges: bool,
    /// It sends nothing at present: it is idle, or a different arm is loaded.
    pub rests: bool,
    /// Number of its next event, if it numbers its events itself.
    pub cycle: u64,
    /// Events since its links were opened.
    pub events_on_link: u64,
    /// Queries answered inside the window.
    pub queries: u64,
    /// The slot that it acts for; the only one of a seat without depth.
    pub slot: Slot,
    /// All slots of a seat with depth, by their numbers. The entry of `slot` is out of date.
    pub(super) slots: Box<[Slot]>,
    /// In a seat with depth: the slot for which the session connects or prepares. Until it is
    /// ready no event begins.
    pub sets_up: Option<usize>,
}

/// Room for one event in progress.
#[derive(Clone, Copy)]
pub struct Slot {
    pub number: usize,
    pub waits_for: WaitsFor,
    /// The event in progress.
    pub event: Option<u64>,
    /// The kind of that event, in a seat with depth.
    pub kind: u8,
    /// The event in progress was to begin inside the window: it and its queries count.
    pub counts: bool,
    /// There are no more events for it until its arm is loaded again.
    pub is_done: bool,
    /// It waits among the free slots of a schedule.
    pub is_queued: bool,
    /// The event that it thinks before, if it is of a kind that does.
    pub thinks_of: Option<u64>,
    /// How often the event in progress was begun again after an error.
    pub tries: u32,
    /// When the event in progress was begun again; 0: it was not.
    pub tried_again_ns: u64,
    /// When the event in progress was due to begin, and when it did: with the sending of its first
    /// request, which is known when that is answered.
    pub intended_ns: u64,
    pub begun_ns: u64,
    pub is_begun: bool,
    /// Number of the alarm that counts: an older one in the queue means nothing any more. Modulo
    /// `DEPTH_MAX` it is the number of the slot.
    pub alarm: u64,
}

/// What a slot waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// Its turn in the setup.
    Unborn,
    /// The connection of this token.
    Connecting(usize),
    /// The end of the pause before it connects again.
    BackingOff(usize),
    /// A place in the queue of the server's socket, which was full.
    SocketQueueFull(usize),
    /// An answer.
    Asking,
    /// The end of a sleep that the session asked for.
    Sleeping,
    /// The end of its think time.
    Thinking,
    /// The end of the pause before it begins its event again.
    Pausing,
    /// Leave to begin an event, or to begin it again.
    Parked,
    /// Nothing: it has ended.
    Stopped,
}

impl Seat {
    pub fn new(session: Box<dyn Session>, index: u32, arm: u16, depth: u32) -> Self {
        let slots = (0..depth as usize).filter(|_| depth > 1).map(Slot::new);
        Self {
            session,
            tokens: Vec::new(),
            index,
            arm,
            is_idle: false,
            judges: false,
            rests: true,
            cycle: u64::from(index),
            events_on_link: 0,
            queries: 0,
            slot: Slot::new(0),
            slots: slots.collect(),
            sets_up: None,
        }
    }

    /// Several of its events may be in progress.
    #[inline]
    pub fn is_deep(&self) -> bool {
        !self.slots.is_empty()
    }

    /// The number of its slots.
    pub fn depth(&self) -> usize {
        self.slots.len().max(1)
    }

    /// Acts for this slot from now on.
    #[inline]
    pub fn turn_to(&mut self, number: usize) {
        if number != self.slot.number
            && let Some(&next) = self.slots.get(number)
            && let Some(place) = self.slots.get_mut(self.slot.number)
        {
            *place = self.slot;
            self.slot = next;
        }
    }

    /// Acts for a slot that has not ended.
    pub fn turn_to_live(&mut self) {
        let live = self
            .each_slot()
            .find(|slot| slot.waits_for != WaitsFor::Stopped);
        if let Some(number) = live.map(|slot| slot.number) {
            self.turn_to(number);
        }
    }

    /// All slots, the one that it acts for first.
    pub fn each_slot(&self) -> impl Iterator<Item = &Slot> {
        let others = self.slots.iter();
        let others = others.filter(|slot| slot.number != self.slot.number);
        [&self.slot].into_iter().chain(others)
    }

    pub fn each_slot_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        let number = self.slot.number;
        let others = self.slots.iter_mut();
        let others = others.filter(move |slot| slot.number != number);
        [&mut self.slot].into_iter().chain(others)
    }

    /// The slot waits for leave to begin an event, and the session could begin one.
    #[inline]
    pub fn is_free(&self) -> bool {
        self.slot.waits_for == WaitsFor::Parked && self.sets_up.is_none()
    }

    /// All other slots have ended.
    pub fn is_last_slot(&self) -> bool {
        let mut slots = self.each_slot();
        slots.all(|slot| slot.number == self.slot.number || slot.waits_for == WaitsFor::Stopped)
    }

    /// The session is busy with the setup for a different slot, and cannot be asked about the event
    /// of this one.
    pub fn is_busy(&self) -> bool {
        self.sets_up.is_some_and(|slot| slot != self.slot.number)
    }

    /// The last request of the slot as text; empty if the session cannot say it at present.
    pub fn statement(&self) -> String {
        match self.is_busy() {
            true => String::new(),
            false => self.session.statement(),
        }
    }

    /// The kind of the event in progress.
    pub fn kind(&self) -> u8 {
        match self.is_deep() {
            true => self.slot.kind,
            false => self.session.kind(),
        }
    }
}

impl Slot {
    fn new(number: usize) -> Self {
        Self {
            number,
            waits_for: WaitsFor::Unborn,
            event: None,
            kind: 0,
            counts: false,
            is_done: false,
            is_queued: false,
            thinks_of: None,
            tries: 0,
            tried_again_ns: 0,
            intended_ns: 0,
            begun_ns: 0,
            is_begun: false,
            alarm: number as u64,
        }
    }

    /// The call for an event that it has begun, or begins again.
    #[inline(always)]
    pub fn begin(&self, cycle: u64) -> Call<'static> {
        Call::Event {
            cycle,
            late_ns: self.begun_ns.saturating_sub(self.intended_ns),
            counts: self.counts,
        }
    }

    /// No alarm set before counts any more. Returns the number of the next.
    pub fn next_alarm(&mut self) -> u64 {
        self.alarm += u64::from(DEPTH_MAX);
        self.alarm
    }

    /// The number of the slot that has this alarm.
    pub fn of_alarm(alarm: u64) -> usize {
        (alarm % u64::from(DEPTH_MAX)) as usize
    }
}
