//! CPUs and the threads on them: which thread runs where, roughly as with a fair scheduler.
//!
//! A thread runs from step to step. Only the machine's driver knows what a step does. It asks for
//! the next step that is due ([`Machine::next_step`]), and says what the thread does after it: it
//! computes ([`Machine::spend`]), waits to be woken ([`Machine::block`]) or sleeps
//! ([`Machine::sleep`]). Between two steps the machine may take the CPU from a thread and return
//! it; the thread does not notice.

use super::agenda::{Agenda, NEVER, PLACES_MAX, Ps};
use super::costs::{HostCosts, ps};
pub use super::cpu_set::CPUS_MAX;
use super::cpu_set::CpuSet;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Range;

/// One place of the agenda is that of the timers.
const _: () = assert!(CPUS_MAX < PLACES_MAX);

/// Where a thread may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsOn {
    /// On all CPUs of the server, or of the client: the same ones, unless the client has its own.
    Server,
    Client,
    /// On one CPU only.
    Cpu(u16),
}

/// The next step of a thread is due now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub now_ps: Ps,
    pub cpu: u16,
    pub thread: u32,
}

/// What happened on all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Happened {
    /// Threads woken on an idle CPU, and on a busy one.
    pub wakes_idle: u64,
    pub wakes_busy: u64,
    /// A CPU switched from one thread to another.
    pub switches: u64,
    /// The same against the will of the thread.
    pub preemptions: u64,
    /// A CPU took a thread that waited for a different CPU.
    pub steals: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CpuState {
    Idle,
    /// It was idle, and has been woken for a thread.
    Waking,
    Running,
}

#[derive(Debug)]
struct VirtualCpu {
    state: CpuState,
    thread: u32,
    /// The thread that ran last: continuing with it is not a switch.
    last: u32,
    step_ps: Ps,
    slice_ends_ps: Ps,
    /// Since when it has run this thread, or been idle.
    since_ps: Ps,
    busy_ps: Ps,
    /// Threads that wait for this CPU, by how much they have had.
    queue: BTreeSet<(Ps, u32)>,
    /// Every thread that comes here counts as having had at least this time.
    floor_ps: Ps,
}

#[derive(Clone, Copy, Debug)]
struct VirtualThread {
    /// The time it has had, as the fair scheduler counts it, on the scale of its CPU.
    had_ps: Ps,
    ran_ps: Ps,
    /// CPU time that it needs until its next step is due.
    rest_ps: Ps,
    cpu: u16,
    is_kept: bool,
    /// Where it ran last, and that CPU's busy time when it left.
    ran_on: Option<u16>,
    left_ps: Ps,
}

#[derive(Debug)]
struct MachineCosts {
    switch_ps: Ps,
    cold_ps: Ps,
    warm_ps: Ps,
    wake_ps: Ps,
    kick_ps: Ps,
    wake_polling_ps: Ps,
    wake_sleeping_ps: Ps,
    polls_ps: Ps,
    timer_ps: Ps,
    slice_ps: Ps,
    preempt_ps: Option<Ps>,
    steals: bool,
}

#[derive(Debug)]
pub struct Machine {
    costs: MachineCosts,
    /// The first CPU of the client; it has none of its own if that is their number.
    client_first: usize,
    near_cpus: usize,
    core_cpus: usize,
    /// How long the work of 65,536 ps takes on a CPU whose core runs another thread.
    shared_ps: u64,
    now_ps: Ps,
    agenda: Agenda,
    cpus: Vec<VirtualCpu>,
    threads: Vec<VirtualThread>,
    idle: CpuSet,
    /// Threads that wait for a CPU.
    waiting: usize,
    timers: BinaryHeap<Reverse<(Ps, u32)>>,
    pub happened: Happened,
}

impl Machine {
    /// The client's own CPUs have the numbers behind those of the server. All threads wait to be
    /// woken; those that are not kept on a CPU begin spread over theirs, those of the server first
    /// over groups of near CPUs and over cores, as Linux does.
    pub fn new(
        server_cpus: usize,
        client_cpus: usize,
        threads: impl Iterator<Item = RunsOn>,
        costs: &HostCosts,
    ) -> Self {
        let client_first = server_cpus.clamp(1, CPUS_MAX);
        let cpus = (client_first + client_cpus).min(CPUS_MAX);
        let near_cpus = match costs.near_cpus {
            0 => cpus,
            near => near as usize,
        };
        let core_cpus = costs.core_cpus.max(1) as usize;
        let order = spread_out(client_first, near_cpus, core_cpus);
        let threads = threads.zip(0..).map(|(runs_on, number): (_, usize)| {
            let own_cpus = cpus - client_first;
            let cpu = match runs_on {
                RunsOn::Cpu(cpu) => cpu,
                RunsOn::Client if own_cpus > 0 => (client_first + number % own_cpus) as u16,
                RunsOn::Client | RunsOn::Server => order[number % client_first],
            };
            VirtualThread {
                had_ps: 0,
                ran_ps: 0,
                rest_ps: 0,
                cpu,
                is_kept: matches!(runs_on, RunsOn::Cpu(_)),
                ran_on: None,
                left_ps: 0,
            }
        });
        Self {
            threads: threads.collect(),
            costs: MachineCosts {
                switch_ps: ps(costs.switch_ns),
                cold_ps: ps(costs.cold_ns),
                warm_ps: ps(costs.warm_ns),
                wake_ps: ps(costs.wake_ns),
                kick_ps: ps(costs.kick_ns),
                wake_polling_ps: ps(costs.wake_polling_ns),
                wake_sleeping_ps: ps(costs.wake_sleeping_ns),
                polls_ps: ps(costs.polls_ns),
                timer_ps: ps(costs.timer_ns),
                slice_ps: ps(costs.slice_ns),
                preempt_ps: costs.preempt_ns.map(ps),
                steals: costs.steals,
            },
            near_cpus,
            client_first,
            core_cpus,
            // A cast from floating point saturates.
            shared_ps: (65_536.0 / costs.core_share) as u64,
            now_ps: 0,
            agenda: Agenda::new(cpus + 1),
            cpus: (0..cpus).map(|_| VirtualCpu::idle()).collect(),
            idle: CpuSet::all(cpus),
            waiting: 0,
            timers: BinaryHeap::new(),
            happened: Happened::default(),
        }
    }

    /// The next step that is due before `until_ps`; none if there is none, and it is then.
    #[inline]
    pub fn next_step(&mut self, until_ps: Ps) -> Option<Moment> {
        loop {
            let (at_ps, place) = self.agenda.first();
            if at_ps >= until_ps {
                self.now_ps = until_ps;
                return None;
            }
            self.now_ps = at_ps;
            let Some(cpu) = self.cpus.get(place) else {
                self.ring();
                continue;
            };
            match cpu.state {
                CpuState::Running if cpu.step_ps <= at_ps => {
                    return Some(Moment {
                        now_ps: at_ps,
                        cpu: place as u16,
                        thread: cpu.thread,
                    });
                }
                CpuState::Running => self.end_slice(place),
                CpuState::Waking => self.begin(place, cpu.thread),
                CpuState::Idle => self.agenda.set(place, NEVER),
            }
        }
    }

    /// The thread computes for `ps` until its next step is due.
    #[inline]
    pub fn spend(&mut self, moment: Moment, mut ps: Ps) {
        let place = usize::from(moment.cpu);
        if self.core_cpus > 1 && self.shares_core(place) {
            let slower_ps = (u128::from(ps) * u128::from(self.shared_ps)) >> 16;
            ps = u64::try_from(slower_ps).map_or(NEVER, |ps| ps.min(NEVER));
        }
        self.cpus[place].step_ps = moment.now_ps + ps;
        self.set_due(place);
    }

    /// The thread waits until it is woken. Its next step is due as soon as it runs again.
    pub fn block(&mut self, moment: Moment) {
        let place = usize::from(moment.cpu);
        self.account(place);
        self.threads[moment.thread as usize].rest_ps = 0;
        self.leave(place);
        self.take_next(place);
    }

    /// The thread sleeps for `ps`. Its next step is due as soon as it runs again.
    pub fn sleep(&mut self, moment: Moment, ps: Ps) {
        let wakes_ps = moment.now_ps + ps + self.costs.timer_ps;
        self.timers.push(Reverse((wakes_ps, moment.thread)));
        self.set_timer();
        self.block(moment);
    }

    /// A thread that waits is woken by the one whose step is due, which it costs this CPU time.
    pub fn wake(&mut self, moment: Moment, thread: u32) -> Ps {
        self.place(thread, Some(moment.cpu))
    }

    /// Wakes a waiting thread at the beginning, without a waker.
    pub fn start(&mut self, thread: u32) {
        self.place(thread, None);
    }

    pub fn now_ps(&self) -> Ps {
        self.now_ps
    }

    /// CPU time that a thread has had until now.
    pub fn ran_ps(&self, thread: u32) -> Ps {
        let one = &self.threads[thread as usize];
        let cpu = &self.cpus[usize::from(one.cpu)];
        let runs = cpu.state == CpuState::Running && cpu.thread == thread;
        one.ran_ps + if runs { self.now_ps - cpu.since_ps } else { 0 }
    }

    /// Time for which each CPU of the server has been busy until now.
    pub fn server_busy_ps(&self) -> impl Iterator<Item = Ps> {
        self.cpus[..self.client_first]
            .iter()
            .map(|cpu| match cpu.state {
                CpuState::Running => cpu.busy_ps + (self.now_ps - cpu.since_ps),
                _ => cpu.busy_ps,
            })
    }

    fn set_due(&mut self, place: usize) {
        let cpu = &self.cpus[place];
        let due_ps = match cpu.queue.is_empty() {
            true => cpu.step_ps,
            false => cpu.step_ps.min(cpu.slice_ends_ps.max(self.now_ps)),
        };
        self.agenda.set(place, due_ps);
    }

    /// A thread begins to run, or goes on.
    fn begin(&mut self, place: usize, thread: u32) {
        let cpu = &mut self.cpus[place];
        let rest_ps = self.threads[thread as usize].rest_ps;
        let mut costs_ps = 0;
        if cpu.last != thread {
            self.happened.switches += 1;
            costs_ps = self.costs.switch_ps;
            if self.costs.cold_ps > 0 {
                costs_ps += self.cold_ps(place, thread);
            }
        }
        let cpu = &mut self.cpus[place];
        cpu.state = CpuState::Running;
        cpu.thread = thread;
        cpu.last = thread;
        cpu.since_ps = self.now_ps;
        cpu.step_ps = self.now_ps + costs_ps + rest_ps;
        cpu.slice_ends_ps = self.now_ps + self.costs.slice_ps;
        self.set_due(place);
    }

    /// What the caches of this CPU have lost of a thread.
    fn cold_ps(&self, place: usize, thread: u32) -> Ps {
        let (thread, costs) = (&self.threads[thread as usize], &self.costs);
        match thread.ran_on.map(usize::from) {
            None => 0,
            Some(ran_on) if ran_on == place => {
                let others_ps = self.cpus[place].busy_ps - thread.left_ps;
                match others_ps < costs.warm_ps {
                    true => {
                        let lost_ps = u128::from(costs.cold_ps) * u128::from(others_ps);
                        (lost_ps / u128::from(costs.warm_ps)) as Ps
                    }
                    false => costs.cold_ps,
                }
            }
            Some(_) => costs.cold_ps,
        }
    }

    /// The running thread, whose time is accounted for, stops here.
    fn leave(&mut self, place: usize) {
        let cpu = &self.cpus[place];
        let thread = &mut self.threads[cpu.thread as usize];
        (thread.ran_on, thread.left_ps) = (Some(place as u16), cpu.busy_ps);
    }

    /// Adds the time the running thread has run.
    fn account(&mut self, place: usize) {
        let cpu = &mut self.cpus[place];
        let thread = &mut self.threads[cpu.thread as usize];
        let ran_ps = self.now_ps - cpu.since_ps;
        thread.ran_ps += ran_ps;
        thread.had_ps += ran_ps;
        cpu.busy_ps += ran_ps;
        cpu.since_ps = self.now_ps;
        let least_ps = match cpu.queue.first() {
            Some((had_ps, _)) => thread.had_ps.min(*had_ps),
            None => thread.had_ps,
        };
        cpu.floor_ps = cpu.floor_ps.max(least_ps);
    }

    /// The running thread has had its slice, or a thread that was woken comes before it.
    fn end_slice(&mut self, place: usize) {
        self.account(place);
        let cpu = &mut self.cpus[place];
        let thread = &mut self.threads[cpu.thread as usize];
        let gives_way = cpu
            .queue
            .first()
            .is_some_and(|(had_ps, _)| *had_ps <= thread.had_ps);
        if gives_way {
            thread.rest_ps = cpu.step_ps - self.now_ps;
            cpu.queue.insert((thread.had_ps, cpu.thread));
            self.waiting += 1;
            self.happened.preemptions += 1;
            self.leave(place);
            self.take_next(place);
        } else {
            cpu.slice_ends_ps = self.now_ps + self.costs.slice_ps;
            self.set_due(place);
        }
    }

    /// A CPU without a thread takes the next one.
    fn take_next(&mut self, place: usize) {
        let own = self.cpus[place].queue.pop_first();
        if own.is_some() {
            self.waiting -= 1;
        }
        let next = own.map(|(_, thread)| thread).or_else(|| self.steal(place));
        match next {
            Some(thread) => self.begin(place, thread),
            None => {
                let cpu = &mut self.cpus[place];
                cpu.state = CpuState::Idle;
                cpu.since_ps = self.now_ps;
                self.idle.insert(place);
                self.agenda.set(place, NEVER);
            }
        }
    }

    /// A thread that waits for the CPU with the longest queue.
    fn steal(&mut self, place: usize) -> Option<u32> {
        if self.waiting == 0 || !self.costs.steals {
            return None;
        }
        let others = self.side(place).filter(|other| *other != place);
        let from = others.max_by_key(|other| (self.cpus[*other].queue.len(), Reverse(*other)))?;
        let threads = &self.threads;
        let mut queue = self.cpus[from].queue.iter();
        let found = *queue.find(|(_, thread)| !threads[*thread as usize].is_kept)?;
        self.cpus[from].queue.remove(&found);
        self.waiting -= 1;
        self.happened.steals += 1;
        self.move_to(found.1, place);
        Some(found.1)
    }

    /// A thread's time so far counts on its new CPU like that of the threads there.
    fn move_to(&mut self, thread: u32, place: usize) {
        let one = &mut self.threads[thread as usize];
        let above_ps = one
            .had_ps
            .saturating_sub(self.cpus[usize::from(one.cpu)].floor_ps);
        one.had_ps = self.cpus[place].floor_ps + above_ps;
        one.cpu = place as u16;
    }

    /// Puts a woken thread on a CPU. First choice is the CPU it ran on, if idle; then an idle one,
    /// the nearest first; then that CPU or the waker's, whichever has fewer threads.
    fn place(&mut self, thread: u32, by: Option<u16>) -> Ps {
        let VirtualThread { cpu, is_kept, .. } = self.threads[thread as usize];
        let last = usize::from(cpu);
        let place = match is_kept || self.idle.contains(last) {
            true => last,
            false => self
                .nearest_idle(last)
                .unwrap_or_else(|| self.shorter(last, by)),
        };
        if place != last {
            self.move_to(thread, place);
        }
        let cpu = &mut self.cpus[place];
        let one = &mut self.threads[thread as usize];
        // A long sleep gives no more credit than others may have to wait for a slice.
        let credit_ps = self.costs.slice_ps / 2;
        one.had_ps = one.had_ps.max(cpu.floor_ps.saturating_sub(credit_ps));
        if cpu.state == CpuState::Idle {
            let polls = self.now_ps - cpu.since_ps <= self.costs.polls_ps;
            let (takes_ps, kick_ps) = match polls {
                true => (self.costs.wake_polling_ps, 0),
                false => (self.costs.wake_sleeping_ps, self.costs.kick_ps),
            };
            cpu.state = CpuState::Waking;
            cpu.thread = thread;
            self.idle.remove(place);
            self.agenda.set(place, self.now_ps + takes_ps);
            self.happened.wakes_idle += 1;
            return self.costs.wake_ps + kick_ps;
        }
        cpu.queue.insert((one.had_ps, thread));
        self.waiting += 1;
        self.happened.wakes_busy += 1;
        if cpu.state == CpuState::Running {
            let running = self.threads[cpu.thread as usize].had_ps + (self.now_ps - cpu.since_ps);
            let had_ps = self.threads[thread as usize].had_ps;
            if self
                .costs
                .preempt_ps
                .is_some_and(|more_ps| running > had_ps + more_ps)
            {
                cpu.slice_ends_ps = self.now_ps;
            }
            self.set_due(place);
        }
        self.costs.wake_ps
    }

    fn nearest_idle(&self, to: usize) -> Option<usize> {
        if self.idle.is_empty() {
            return None;
        }
        let near = self.neighbours(to, self.near_cpus);
        (self.idle_within(near)).or_else(|| self.idle_within(self.side(to)))
    }

    /// An idle CPU of a range, if possible one whose core is idle.
    fn idle_within(&self, range: Range<usize>) -> Option<usize> {
        let mut idle = self.idle.within(range.clone());
        let is_whole = |cpu: &usize| {
            let mut core = self.neighbours(*cpu, self.core_cpus);
            core.all(|other| self.idle.contains(other))
        };
        let whole = idle.find(is_whole);
        whole.or_else(|| self.idle.within(range).next())
    }

    /// The CPUs of the server, or those of the client: of both if it has none of its own.
    fn side(&self, place: usize) -> Range<usize> {
        match place < self.client_first {
            true => 0..self.client_first,
            false => self.client_first..self.cpus.len(),
        }
    }

    /// The CPUs of the same group of this size, neighbours by number.
    fn neighbours(&self, place: usize, size: usize) -> Range<usize> {
        let side = self.side(place);
        let first = place - (place - side.start) % size;
        first..(first + size).min(side.end)
    }

    /// Another CPU of the core runs a thread.
    fn shares_core(&self, place: usize) -> bool {
        let runs = |other: usize| self.cpus[other].state == CpuState::Running;
        let mut core = self.neighbours(place, self.core_cpus);
        core.any(|other| other != place && runs(other))
    }

    fn shorter(&self, last: usize, by: Option<u16>) -> usize {
        let threads = |place: usize| self.cpus[place].queue.len();
        match by.map(usize::from) {
            Some(by) if self.side(last).contains(&by) && threads(by) < threads(last) => by,
            _ => last,
        }
    }

    fn set_timer(&mut self) {
        let first = self.timers.peek();
        let at_ps = first.map_or(NEVER, |Reverse((at_ps, _))| *at_ps);
        self.agenda.set(self.cpus.len(), at_ps);
    }

    /// The sleep of a thread is over.
    fn ring(&mut self) {
        if let Some(Reverse((_, thread))) = self.timers.pop() {
            self.place(thread, None);
        }
        self.set_timer();
    }
}

/// The CPUs in the order in which threads are put on them at first.
fn spread_out(cpus: usize, near: usize, core: usize) -> Vec<u16> {
    let mut order: Vec<_> = (0..cpus as u16).collect();
    order.sort_by_key(|cpu| {
        let within = usize::from(*cpu) % near;
        (within % core, within / core, *cpu)
    });
    order
}

impl VirtualCpu {
    fn idle() -> Self {
        Self {
            state: CpuState::Idle,
            thread: 0,
            last: u32::MAX,
            step_ps: NEVER,
            slice_ends_ps: 0,
            since_ps: 0,
            busy_ps: 0,
            queue: BTreeSet::new(),
            floor_ps: 0,
        }
    }
}

#[cfg(test)]
mod tests;
