//! The core under many threads, driven as a server drives it: a lock and a condition for each
//! segment, pages read and copied without the lock.

#![allow(clippy::unwrap_used)]
use super::sizes::BLOCKS_MIN;
use super::*;
use contend_random::Stream;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;

const SEGMENTS: u32 = 3;
const THREADS: u64 = 16;
const NO_PAGE: u32 = u32::MAX;

/// A block's memory, as far as a test must know it.
#[derive(Default)]
struct Memory {
    page: AtomicU32,
    /// Threads that copy the page out at this moment.
    copying: AtomicU32,
}

struct Locked {
    segment: Mutex<Segment>,
    changed: Condvar,
    memory: Vec<Memory>,
}

impl Locked {
    fn new(blocks: u32) -> Self {
        Self {
            segment: Mutex::new(Segment::new(blocks, 20, 100)),
            changed: Condvar::new(),
            memory: (0..blocks).map(|_| Memory::default()).collect(),
        }
    }

    fn wait<'s>(
        &'s self,
        guard: &mut Option<MutexGuard<'s, Segment>>,
        until: impl Fn(&Segment) -> bool,
    ) {
        let mut segment = guard.take().unwrap();
        while !until(&segment) {
            segment = self.changed.wait(segment).unwrap();
        }
        *guard = Some(segment);
    }
}

/// What a thread did.
#[derive(Default)]
struct Did {
    finds: u64,
    misses: u64,
    waits: u64,
}

fn ask(
    index: &Index,
    segments: &ControlBlocks<Locked>,
    query: &mut PointQuery,
    keys: &[u32],
    did: &mut Did,
) -> Vec<u32> {
    let parting = Parting {
        descriptor: 44,
        segments: SEGMENTS,
    };
    query.begin(keys, parting);
    let (mut rows, mut seen) = (Vec::new(), ActResult::Nothing);
    let mut guard: Option<MutexGuard<'_, Segment>> = None;
    let at = |seg: u32| segments.get(seg as usize).unwrap();
    loop {
        let act = query.next(seen);
        seen = ActResult::Nothing;
        match act {
            Act::Lock { seg } => guard = Some(at(seg).segment.lock().unwrap()),
            Act::Unlock { .. } => guard = None,
            Act::Find { page, .. } => {
                let find = guard.as_mut().unwrap().find(page);
                did.finds += u64::from(find != Find::Full);
                did.misses += u64::from(matches!(find, Find::Miss(_)));
                did.waits += u64::from(matches!(find, Find::Wait(_) | Find::Full));
                seen = ActResult::Find(find);
            }
            Act::AwaitPage { seg, block } => {
                at(seg).wait(&mut guard, |segment| segment.has_arrived(block));
            }
            Act::AwaitBlock { seg } => {
                let segment = guard.take().unwrap();
                guard = Some(at(seg).changed.wait(segment).unwrap());
            }
            Act::ReadPage { seg, block, page } => {
                let memory = &at(seg).memory[block as usize];
                memory.page.store(NO_PAGE, SeqCst);
                assert_eq!(
                    memory.copying.load(SeqCst),
                    0,
                    "a page is copied while it changes"
                );
                thread::yield_now();
                assert_eq!(
                    memory.page.swap(page, SeqCst),
                    NO_PAGE,
                    "two read into one block"
                );
            }
            Act::Arrived { seg, block } => {
                guard.as_mut().unwrap().arrived(block);
                at(seg).changed.notify_all();
            }
            Act::Copy { seg, block, page } => {
                let memory = &at(seg).memory[block as usize];
                memory.copying.fetch_add(1, SeqCst);
                assert_eq!(memory.page.load(SeqCst), page);
                thread::yield_now();
                assert_eq!(memory.page.load(SeqCst), page);
                memory.copying.fetch_sub(1, SeqCst);
            }
            Act::Release { seg, block } => {
                if guard.as_mut().unwrap().release(block) {
                    at(seg).changed.notify_all();
                }
            }
            Act::Search { page, key, side } => {
                seen = ActResult::InPage(index.child(page, key, side));
            }
            Act::Row(row) => rows.push(row),
            Act::Done => return rows,
            Act::EnterIndex | Act::LeaveIndex | Act::Point | Act::Query => {}
        }
    }
}

#[test]
fn threads_never_share_a_block_wrongly_and_none_is_lost() {
    let index = Index::new(30_000);
    let segments = ControlBlocks::new(
        Padding::Shared,
        (0..SEGMENTS).map(|_| Locked::new(BLOCKS_MIN)),
    );
    let one_thread = |number| {
        let mut stream = Stream::new(7, number);
        let (mut query, mut did) = (PointQuery::new(&index), Did::default());
        for _ in 0..60 {
            // Half of the keys are the same for all, so that threads want the same page at once.
            let key = |n| 1 + stream.below(if n % 2 == 0 { 300 } else { 30_000 }) as u32;
            let mut keys: Vec<u32> = (0..6).map(key).collect();
            let rows = ask(&index, &segments, &mut query, &keys, &mut did);
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(rows, keys);
        }
        did
    };
    let all: Vec<Did> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|number| scope.spawn(move || one_thread(number)))
            .collect();
        threads.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let sum = |of: fn(&Did) -> u64| all.iter().map(of).sum::<u64>();
    let counted: Vec<SegmentCounts> = segments
        .iter()
        .map(|locked| locked.segment.lock().unwrap().counters())
        .collect();
    let requests: u64 = counted.iter().map(|one| one.read_requests).sum();
    let reads: u64 = counted.iter().map(|one| one.reads).sum();
    assert_eq!(
        (requests, reads),
        (sum(|did| did.finds), sum(|did| did.misses))
    );
    assert!(
        sum(|did| did.waits) > 0,
        "no thread ever waited for another"
    );
    for locked in segments.iter() {
        let mut segment = locked.segment.lock().unwrap();
        // All blocks are unused now: each can be emptied.
        segment.empty();
        assert_eq!(segment.counters().used_blocks, 0);
    }
}
