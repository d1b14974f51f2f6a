//! The tallies of workers that no worker records in now, and those that several record in.
//!
//! Histograms are large. A worker of many seats has some of its own, so that it locks nothing. Of
//! workers with one seat each there may be hundreds: they share as many tallies as commonly write
//! at once, and lock them for each record.

use contend_figures::{Tally, TallyShape};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Shared tallies of a run at most: more threads than these seldom write at once.
const SHARED_MAX: usize = 16;

/// The number of tallies that this number of workers share. Worker n has tally n modulo that.
pub(super) fn shared(workers: u32) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores.min(workers as usize).clamp(1, SHARED_MAX)
}

/// The tallies of one worker, or of several that share one.
#[derive(Default)]
pub struct Tallies {
    /// Empty ones. A worker takes one when it hands over its own, so an interval allocates nothing.
    #[allow(clippy::vec_box, reason = "they go to and fro as they are, uncopied")]
    spare: Mutex<Vec<Box<Tally>>>,
    shared: Mutex<SharedTally>,
}

#[derive(Default)]
struct SharedTally {
    tally: Box<Tally>,
    /// Edges of the load so far at which it was handed over.
    edges: u32,
}

impl Tallies {
    /// Leaves an empty tally.
    pub(super) fn put(&self, tally: Box<Tally>) {
        lock(&self.spare).push(tally);
    }

    /// An empty tally of this shape; a new one if there is none.
    pub(super) fn take(&self, shape: TallyShape) -> Box<Tally> {
        let mut spare = lock(&self.spare);
        let place = spare.iter().rposition(|tally| tally.shape() == shape);
        let empty = place.map(|place| spare.swap_remove(place));
        drop(spare);
        empty.unwrap_or_else(|| Box::new(Tally::new(shape)))
    }

    /// Records in the shared tally.
    pub(super) fn share(&self, record: impl FnOnce(&mut Tally)) {
        record(&mut lock(&self.shared).tally);
    }

    /// A load of this shape begins. No worker records, and all records were handed over.
    pub(super) fn begin(&self, shape: TallyShape) {
        let empty = self.take(shape);
        let mut shared = lock(&self.shared);
        shared.edges = 0;
        let before = std::mem::replace(&mut shared.tally, empty);
        drop(shared);
        self.put(before);
    }

    /// The shared records before edge number `edge` of the load, counted from 1, to the first
    /// worker that asks; later records belong to what follows.
    pub(super) fn hand_over(&self, edge: u32) -> Option<Box<Tally>> {
        let mut shared = lock(&self.shared);
        if edge <= shared.edges {
            return None;
        }
        shared.edges = edge;
        let empty = self.take(shared.tally.shape());
        Some(std::mem::replace(&mut shared.tally, empty))
    }

    /// The shared records after the last edge, when all workers have ended their events.
    pub(super) fn hand_over_rest(&self, sum: &mut Tally) {
        let mut shared = lock(&self.shared);
        sum.merge(&shared.tally);
        shared.tally.clear();
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    const SHAPE: TallyShape = TallyShape {
        kinds: 1,
        classes: 0,
        times_classes: false,
        is_open: false,
        times_lag: false,
        nodes: 0,
    };

    #[test]
    fn every_record_is_handed_over_once_and_to_who_is_first_at_the_edge() {
        let tallies = Tallies::default();
        tallies.begin(SHAPE);
        let stop = AtomicBool::new(false);
        let (recorded, handed) = std::thread::scope(|scope| {
            let record = || {
                let mut events = 0;
                while !stop.load(Relaxed) {
                    tallies.share(|tally| tally.kinds[0].record_ns(1000, 0));
                    events += 1;
                }
                events
            };
            let writers = [scope.spawn(record), scope.spawn(record)];
            let mut handed = 0;
            for edge in 1..200 {
                let tally = tallies.hand_over(edge).unwrap();
                assert!(tallies.hand_over(edge).is_none());
                assert_eq!(tally.kinds[0].response.count(), tally.events());
                handed += tally.events();
                let mut tally = tally;
                tally.clear();
                tallies.put(tally);
            }
            stop.store(true, Relaxed);
            let recorded = writers.map(|writer| writer.join().unwrap());
            (recorded.iter().sum::<u64>(), handed)
        });
        let mut rest = Tally::new(SHAPE);
        tallies.hand_over_rest(&mut rest);
        assert_eq!(handed + rest.events(), recorded);
        // The next load begins with the first edge again.
        tallies.begin(SHAPE);
        assert_eq!(tallies.hand_over(1).unwrap().events(), 0);
    }
}
