//! A thread of the server: it reads the queries of its connection, does the core's acts one by one,
//! and answers.

use super::agenda::Ps;
use super::demands::{ServerPs, Variation};
use super::key_cache::VirtualKeyCache;
use super::lock::{Attempt, Tried};
use super::machine::{Machine, Moment};
use super::sockets::Sockets;
use crate::{Act, ActResult, PointQuery};

#[derive(Debug)]
pub struct ServerThread {
    connection: u32,
    query: PointQuery,
    /// The table that the query asks.
    table: u32,
    /// The progress of a query's part.
    part: u64,
    seen: ActResult,
    due: ServerStep,
    attempt: Attempt,
    /// CPU time that was used where none could be taken: before a thread sleeps.
    owed_ps: Ps,
}

/// The action of a thread when the time before it is spent. All else it does in between, because
/// other threads cannot see when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerStep {
    Receive,
    PassIndex(Ps),
    Lock(u32),
    Unlock(u32),
    /// Have the kernel wake a thread that waits for the lock.
    WakeWaiter(u32),
    /// Sleep while a page is read.
    Read,
    /// Sleep while a row is read.
    ReadRow,
    GoOn,
    /// Give the lock back, and sleep until a page has arrived in a block, or a block is free.
    Await {
        seg: u32,
        block: Option<u32>,
    },
    Answer,
}

/// What a thread does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NowDoes {
    Computes(Ps),
    /// Until it is woken.
    Waits,
    Sleeps(Ps),
}

/// What the threads of the server share.
pub struct ServerWorld<'a> {
    pub machine: &'a mut Machine,
    pub sockets: &'a mut Sockets,
    pub cache: &'a mut VirtualKeyCache,
    pub demands: &'a ServerPs,
    pub spread: &'a mut Variation,
    /// Draws the keys of an event into the buffer, and its table.
    pub draw: &'a mut dyn FnMut(u64, &mut Vec<u32>) -> u32,
    pub keys: &'a mut Vec<u32>,
    /// Adds up how far the queries are, in units of [`QUERY`] for one.
    pub progress: &'a mut u64,
}

/// One query, as progress is counted.
pub const QUERY: u64 = 1 << 32;

/// Time that adds up until the next step.
#[derive(Clone, Copy, Default)]
struct Until {
    work_ps: Ps,
    /// The part due to the machine, which does not vary with the work.
    other_ps: Ps,
}

impl ServerThread {
    pub fn new(connection: u32, query: PointQuery) -> Self {
        Self {
            connection,
            query,
            table: 0,
            part: 0,
            seen: ActResult::Nothing,
            due: ServerStep::Receive,
            attempt: Attempt::fresh(),
            owed_ps: 0,
        }
    }

    /// The time before the step that is due was spent.
    #[inline]
    pub fn step(&mut self, moment: Moment, world: &mut ServerWorld<'_>) -> NowDoes {
        let mut until = Until {
            work_ps: 0,
            other_ps: std::mem::take(&mut self.owed_ps),
        };
        match self.due {
            ServerStep::Receive => {
                let Some(cycle) = world.sockets.read(self.connection) else {
                    return NowDoes::Waits;
                };
                self.table = (world.draw)(cycle, world.keys);
                let parting = world.cache.parting_of(self.table);
                self.query.begin(world.keys, parting);
                self.part = QUERY / self.query.parts().max(1) as u64;
                self.seen = ActResult::Nothing;
            }
            ServerStep::PassIndex(takes_ps) => {
                until.work_ps = takes_ps;
                until.other_ps += world.cache.pass_index(self.table, moment);
            }
            ServerStep::Lock(seg) => match world.cache.look(seg, &mut self.attempt, moment) {
                Tried::Taken(moves_ps) => {
                    until.work_ps = world.demands.lock_ps;
                    until.other_ps += moves_ps;
                }
                Tried::Again(ps) => return NowDoes::Computes(ps),
                Tried::Asleep => return NowDoes::Waits,
            },
            ServerStep::Unlock(seg) => {
                let given = world.cache.give_back(seg, moment);
                if given.wakes {
                    self.due = ServerStep::WakeWaiter(seg);
                    return NowDoes::Computes(given.takes_ps + world.cache.syscall_ps());
                }
                until.other_ps += given.takes_ps;
            }
            ServerStep::WakeWaiter(seg) => {
                until.other_ps += world.cache.wake_waiter(seg, moment, world.machine);
            }
            ServerStep::Read => {
                self.due = ServerStep::GoOn;
                return NowDoes::Sleeps(world.demands.miss_ps);
            }
            ServerStep::ReadRow => {
                self.due = ServerStep::GoOn;
                return NowDoes::Sleeps(world.spread.vary(world.demands.disk_ps));
            }
            ServerStep::GoOn => {}
            ServerStep::Await { seg, block } => {
                world.cache.await_page(seg, block, moment.thread);
                let given = world.cache.give_back(seg, moment);
                self.owed_ps = given.takes_ps;
                if given.wakes {
                    self.owed_ps += world.cache.syscall_ps();
                    self.owed_ps += world.cache.wake_waiter(seg, moment, world.machine);
                }
                self.attempt = Attempt::fresh();
                self.due = ServerStep::Lock(seg);
                return NowDoes::Waits;
            }
            ServerStep::Answer => {
                self.due = ServerStep::Receive;
                let wakes_ps = world.sockets.answer(self.connection, moment, world.machine);
                return NowDoes::Computes(wakes_ps);
            }
        }
        self.go_on(moment, world, &mut until);
        NowDoes::Computes(world.spread.vary(until.work_ps) + until.other_ps)
    }

    /// Does the work that other threads cannot see, up to the next step.
    #[inline]
    fn go_on(&mut self, moment: Moment, world: &mut ServerWorld<'_>, until: &mut Until) {
        let demands = world.demands;
        loop {
            let act = self
                .query
                .next(std::mem::replace(&mut self.seen, ActResult::Nothing));
            self.due = match act {
                Act::EnterIndex => {
                    if self.query.begins_part() {
                        *world.progress += self.part;
                    }
                    ServerStep::PassIndex(demands.enter_ps)
                }
                Act::LeaveIndex => ServerStep::PassIndex(demands.leave_ps),
                Act::Lock { seg } => {
                    self.attempt = Attempt::fresh();
                    ServerStep::Lock(seg)
                }
                Act::Unlock { seg } => {
                    until.work_ps += demands.unlock_ps;
                    ServerStep::Unlock(seg)
                }
                Act::AwaitPage { seg, block } => ServerStep::Await {
                    seg,
                    block: Some(block),
                },
                Act::AwaitBlock { seg } => ServerStep::Await { seg, block: None },
                Act::ReadPage { .. } => {
                    until.work_ps += demands.read_ps;
                    if demands.miss_ps == 0 {
                        continue;
                    }
                    ServerStep::Read
                }
                Act::Done => ServerStep::Answer,
                Act::Find { seg, page } => {
                    let (found, moves_ps) =
                        world.cache.find(self.table, seg, page, moment, demands);
                    self.seen = ActResult::Find(found);
                    until.work_ps += demands.find_ps;
                    until.other_ps += moves_ps;
                    continue;
                }
                Act::Release { seg, block } => {
                    until.work_ps += demands.release_ps;
                    let cache = &mut *world.cache;
                    until.other_ps += cache.release(seg, block, moment, demands, world.machine);
                    continue;
                }
                Act::Arrived { seg, block } => {
                    until.other_ps += world.cache.arrived(seg, block, moment, world.machine);
                    continue;
                }
                Act::Search { page, key, side } => {
                    self.seen = ActResult::InPage(world.cache.index.child(page, key, side));
                    until.work_ps += demands.search_ps;
                    continue;
                }
                Act::Copy { .. } => {
                    until.work_ps += demands.copy_ps;
                    continue;
                }
                Act::Row(_) => {
                    until.work_ps += demands.row_ps;
                    if !world.spread.happens(demands.row_away_share) {
                        continue;
                    }
                    ServerStep::ReadRow
                }
                Act::Point => {
                    until.work_ps += demands.point_ps;
                    continue;
                }
                Act::Query => {
                    until.work_ps += demands.query_ps;
                    continue;
                }
            };
            return;
        }
    }
}
