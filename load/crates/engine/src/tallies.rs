//! The tallies of workers that no worker records in now, and those that several record in.
//!
//! Histograms are large. A worker of many seats has some of its own, so that it locks nothing. Of
//! workers with one seat each there may be hundreds: they share as many tallies as commonly write
//! at once, and lock them for each record.

use contend_figures::{Latency, Sum, Tally, TallyShape};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Shared tallies of a run at most: more threads than these seldom write at once.
const SHARED_MAX: usize = 16;

/// The tallies of one worker, or those that all workers share.
#[derive(Default)]
pub struct Tallies {
    /// Empty ones. A worker takes one when it hands over its own, so an interval allocates nothing.
    #[allow(clippy::vec_box, reason = "they go to and fro as they are, uncopied")]
    spare: Mutex<Vec<Box<Tally>>>,
    shared: Vec<Mutex<Box<Tally>>>,
    /// Edges of the load so far at which the shared ones were handed over.
    edges: Mutex<u32>,
}

impl Tallies {
    /// For this number of workers together.
    pub(super) fn shared_by(workers: u32) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let shared = cores.min(workers as usize).clamp(1, SHARED_MAX);
        Self {
            shared: (0..shared).map(|_| Mutex::default()).collect(),
            ..Self::default()
        }
    }

    /// Leaves an empty tally.
    pub(super) fn put(&self, tally: Box<Tally>) {
        locked(&self.spare).push(tally);
    }

    /// An empty tally of this shape; a new one if there is none.
    pub(super) fn take(&self, shape: TallyShape) -> Box<Tally> {
        let mut spare = locked(&self.spare);
        let place = spare.iter().rposition(|tally| tally.shape() == shape);
        let empty = place.map(|place| spare.swap_remove(place));
        drop(spare);
        empty.unwrap_or_else(|| Box::new(Tally::new(shape)))
    }

    /// Records in a shared tally: in this worker's, or if that is locked in a different one, for
    /// the worker that writes there may have lost its CPU.
    pub(super) fn share(&self, worker: u32, record: impl FnOnce(&mut Tally)) {
        let first = worker as usize % self.shared.len().max(1);
        let (before, from) = self.shared.split_at(first);
        let mut free = from
            .iter()
            .chain(before)
            .filter_map(|one| one.try_lock().ok());
        let free = free.next().or_else(|| self.shared.get(first).map(locked));
        if let Some(mut shared) = free {
            record(&mut shared);
        }
    }

    /// A load of this shape begins. No worker records, and all records were handed over.
    pub(super) fn begin(&self, shape: TallyShape) {
        *locked(&self.edges) = 0;
        for shared in &self.shared {
            let mut before = std::mem::replace(&mut *locked(shared), self.take(shape));
            before.clear();
            self.put(before);
        }
    }

    /// The shared records before edge number `edge` of the load, counted from 1, to the first
    /// worker that asks. Later records belong to what follows.
    pub(super) fn hand_over(&self, edge: u32) -> Option<Box<Tally>> {
        let mut edges = locked(&self.edges);
        if edge <= *edges {
            return None;
        }
        *edges = edge;
        let mut sum: Option<Box<Tally>> = None;
        for shared in &self.shared {
            let mut shared = locked(shared);
            let empty = self.take(shared.shape());
            let mut taken = std::mem::replace(&mut *shared, empty);
            drop(shared);
            match &mut sum {
                None => sum = Some(taken),
                Some(sum) => {
                    sum.merge(&taken);
                    taken.clear();
                    self.put(taken);
                }
            }
        }
        sum
    }

    /// The shared records after the last edge, when all workers have ended their events.
    pub(super) fn hand_over_rest(&self, sum: &mut Tally) {
        for shared in &self.shared {
            let mut shared = locked(shared);
            sum.merge(&shared);
            shared.clear();
        }
    }

    /// Takes the connect times that were shared so far.
    pub(super) fn take_connects(&self, sum: &mut Latency) {
        for shared in &self.shared {
            if let Some(connects) = locked(shared).connect.take() {
                sum.merge(&connects);
            }
        }
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
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
        let tallies = Tallies::shared_by(2);
        tallies.begin(SHAPE);
        let stop = AtomicBool::new(false);
        let (recorded, handed) = std::thread::scope(|scope| {
            let record = |worker| {
                let (tallies, stop) = (&tallies, &stop);
                scope.spawn(move || {
                    let mut events = 0;
                    while !stop.load(Relaxed) {
                        tallies.share(worker, |tally| tally.kinds[0].record_ns(1000, 0));
                        events += 1;
                    }
                    events
                })
            };
            let writers = [record(0), record(1)];
            let mut handed = 0;
            for edge in 1..200 {
                let mut tally = tallies.hand_over(edge).unwrap();
                assert!(tallies.hand_over(edge).is_none());
                assert_eq!(tally.kinds[0].response.count(), tally.events());
                handed += tally.events();
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
