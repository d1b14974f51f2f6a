//! What must hold of any run.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::VirtualRun;
use super::costs::HostCosts;
use super::demands::Demands;
use super::figures::VirtualFigures;
use super::lock::Handing;
use super::simulate::draw_keys;
use crate::{Act, ActResult, Find, Index, KeyCacheSizes, Parting, PointQuery};
use contend_random::Distribution;
use contend_random::{Sampler, Shape};
use proptest::prelude::*;

fn usual() -> VirtualRun {
    VirtualRun {
        cpus: 2,
        client_cpus: 0,
        connections: 8,
        workers: 1,
        rows: 20_000,
        points: 10,
        distribution: Distribution::Uniform {},
        seed: 303,
        key_cache: KeyCacheSizes {
            key_buffer_size: 64 << 20,
            key_cache_segments: 0,
            key_cache_division_limit: 100,
            key_cache_age_threshold: 300,
        },
        descriptors: vec![5],
        handing: Handing::Barging,
        spins: 100,
        host: HostCosts::default(),
        demands: Demands::default(),
        warmup_s: 0.005,
        measure_s: 0.05,
    }
}

fn sizes(key_buffer_size: u64, key_cache_segments: u32) -> KeyCacheSizes {
    KeyCacheSizes {
        key_buffer_size,
        key_cache_segments,
        ..usual().key_cache
    }
}

/// A host where nothing costs anything but the work itself.
fn free_host() -> HostCosts {
    HostCosts {
        handover_near_ns: 0.0,
        handover_far_ns: 0.0,
        syscall_ns: 0.0,
        switch_ns: 0.0,
        wake_ns: 0.0,
        kick_ns: 0.0,
        wake_polling_ns: 0.0,
        wake_sleeping_ns: 0.0,
        ..HostCosts::default()
    }
}

fn figures(run: &VirtualRun) -> VirtualFigures {
    run.run(&mut |_| ()).unwrap()
}

/// CPU time of one query of the server, in ns: the mean of the first `queries`, all pages there.
fn demand_ns(run: &VirtualRun, queries: u64) -> f64 {
    let index = Index::new(run.rows);
    let mut query = PointQuery::new(&index);
    let sampler = Sampler::new(Shape::new(&run.distribution), 1, u64::from(run.rows));
    let demands = &run.demands;
    let parting = Parting {
        descriptor: run.descriptors[0],
        segments: 1,
    };
    let (mut sum_ns, mut keys) = (0.0, Vec::new());
    for cycle in 0..queries {
        draw_keys(run.seed, cycle, 1, run.points, &sampler, &mut keys);
        query.begin(&keys, parting);
        let mut seen = ActResult::Nothing;
        loop {
            let act = query.next(std::mem::replace(&mut seen, ActResult::Nothing));
            sum_ns += match act {
                Act::EnterIndex => demands.enter_ns,
                Act::LeaveIndex => demands.leave_ns,
                Act::Lock { .. } => demands.lock_ns,
                Act::Unlock { .. } => demands.unlock_ns,
                Act::Find { .. } => {
                    seen = ActResult::Find(Find::Hit(0));
                    demands.find_ns
                }
                Act::Copy { .. } => demands.copy_ns,
                Act::Release { .. } => demands.release_ns,
                Act::Search { page, key, side } => {
                    seen = ActResult::InPage(index.child(page, key, side));
                    demands.search_ns
                }
                Act::Row(_) => demands.row_ns,
                Act::Point => demands.point_ns,
                Act::Query => demands.query_ns,
                Act::Done => break,
                other => panic!("{other:?} of a page that is there"),
            };
        }
    }
    sum_ns / queries as f64
}

/// A row that is away is slept for as long as the disk takes, and only that share of rows is.
#[test]
fn a_row_that_is_not_in_memory_is_slept_for() {
    let (disk_ns, points) = (2_000_000.0, 10.0);
    let run = |share: f64| VirtualRun {
        connections: 1,
        points: points as u32,
        demands: Demands {
            spread: 0.0,
            row_wait_ns: share * disk_ns,
            disk_ns,
            ..Demands::default()
        },
        measure_s: 1.0,
        ..usual()
    };
    let there_ns = 1e9 / figures(&run(0.0)).qps();
    let host = HostCosts::default();
    let more_ns = host.timer_ns + host.wake_sleeping_ns + 5.0 * host.switch_ns;
    for (share, off) in [(1.0, 0.01), (0.1, 0.2)] {
        let away_ns = 1e9 / figures(&run(share)).qps() - there_ns;
        let of_a_row_ns = away_ns / (points * share);
        let most_ns = (disk_ns + more_ns) * (1.0 + off);
        assert!(
            (disk_ns * (1.0 - off)..most_ns).contains(&of_a_row_ns),
            "{share}: {of_a_row_ns}"
        );
    }
}

#[test]
fn one_connection_takes_the_sum_of_its_parts() {
    for cpus in [1, 2, 5] {
        let run = VirtualRun {
            cpus,
            connections: 1,
            distribution: Distribution::default(),
            demands: Demands {
                spread: 0.0,
                ..Demands::default()
            },
            measure_s: 0.2,
            ..usual()
        };
        let (demands, host) = (&run.demands, &run.host);
        let own_ns = demands.client_answer_ns + demands.client_ask_ns;
        let between_ns = match cpus {
            1 => demands.client_wait_ns + 2.0 * (host.wake_ns + host.switch_ns),
            _ => 2.0 * host.wake_sleeping_ns,
        };
        let found = figures(&run);
        let query_ns = demand_ns(&run, found.answered) + own_ns + between_ns;
        let expected = 1e9 / query_ns;
        let off = found.qps() / expected - 1.0;
        assert!(
            off.abs() < 0.002,
            "{cpus} CPUs: {} for {expected}",
            found.qps()
        );
        assert_eq!(found.segments[0].lock.waits, 0);
    }
}

#[test]
fn without_a_lock_to_wait_for_each_cpu_adds_as_much() {
    let with = |connections| VirtualRun {
        cpus: 8,
        connections,
        demands: Demands {
            lock_ns: 0.0,
            unlock_ns: 0.0,
            find_ns: 0.0,
            release_ns: 0.0,
            client_answer_ns: 0.0,
            client_ask_ns: 0.0,
            client_wait_ns: 0.0,
            ..Demands::default()
        },
        host: free_host(),
        ..usual()
    };
    let one = figures(&with(1)).qps();
    for connections in [2, 5, 8] {
        let ratio = figures(&with(connections)).qps() / one;
        assert!(
            (ratio / f64::from(connections) - 1.0).abs() < 0.02,
            "{connections}: {ratio}"
        );
    }
    // No more than there are CPUs.
    let ratio = figures(&with(40)).qps() / one;
    assert!((ratio / 8.0 - 1.0).abs() < 0.02, "{ratio}");
}

#[test]
fn a_lock_bounds_what_is_answered() {
    for handing in [Handing::Barging, Handing::InTurn] {
        let run = VirtualRun {
            cpus: 8,
            connections: 16,
            handing,
            demands: Demands {
                find_ns: 400.0,
                release_ns: 400.0,
                query_ns: 1_000.0,
                point_ns: 0.0,
                row_ns: 0.0,
                spread: 0.0,
                ..Demands::default()
            },
            host: free_host(),
            ..usual()
        };
        let found = figures(&run);
        let demands = &run.demands;
        let held_ns = 400.0 + demands.lock_ns + demands.unlock_ns;
        let visits = found.visits() as f64 / found.answered as f64;
        let bound = 1e9 / (visits * held_ns);
        assert!(
            found.qps() <= bound * 1.005,
            "{handing:?}: {} of {bound}",
            found.qps()
        );
        assert!(
            found.qps() >= bound * 0.6,
            "{handing:?}: {} of {bound}",
            found.qps()
        );
        let held_ps = found.segments[0].lock.held_ps;
        // One at a time; one had it when the measured time began.
        assert!(held_ps <= found.time_ps + 1_000_000, "{held_ps}");
        // Segments lift the bound, by less than their number: the root has one lock.
        let divided = VirtualRun {
            key_cache: sizes(64 << 20, 32),
            ..run
        };
        let gain = figures(&divided).qps() / found.qps();
        assert!(gain > 1.3 && gain < 8.0, "{handing:?}: {gain}");
    }
}

#[test]
fn in_turn_everybody_is_served_alike() {
    let run = VirtualRun {
        cpus: 8,
        connections: 8,
        handing: Handing::InTurn,
        demands: Demands {
            find_ns: 400.0,
            release_ns: 400.0,
            ..Demands::default()
        },
        ..usual()
    };
    let answers = figures(&run).answers;
    let (least, most) = (answers.iter().min().unwrap(), answers.iter().max().unwrap());
    assert!(*most - *least <= 1 + most / 20, "{answers:?}");
}

/// If all threads that wait for a lock sleep, each visit takes a wake-up, and all connections come
/// forward in step: none is answered before all have made nearly all visits of a query.
#[test]
fn in_turn_each_visit_takes_a_wake_up_if_all_who_wait_sleep() {
    for wake_sleeping_ns in [5_000.0, 25_000.0] {
        let run = VirtualRun {
            cpus: 24,
            connections: 64,
            handing: Handing::InTurn,
            host: HostCosts {
                wake_sleeping_ns,
                ..HostCosts::default()
            },
            ..usual()
        };
        let found = figures(&run);
        let visit_ns = found.time_ps as f64 / 1e3 / found.visits() as f64;
        let own_ns = visit_ns - wake_sleeping_ns;
        assert!((0.0..3_000.0).contains(&own_ns), "{visit_ns}");
        assert!(found.points_per_s() > 0.0);
    }
}

#[test]
fn points_are_begun_at_the_rate_of_answers() {
    for points in [1, 10, 300] {
        let found = figures(&VirtualRun {
            points,
            measure_s: 0.2,
            ..usual()
        });
        let ratio = found.points_per_s() / f64::from(points) / found.qps();
        assert!((ratio - 1.0).abs() < 0.03, "{points}: {ratio}");
    }
}

#[test]
fn a_client_with_its_own_cpus_leaves_the_server_its_cpus() {
    let run = VirtualRun {
        connections: 1,
        client_cpus: 1,
        cpus: 1,
        demands: Demands {
            spread: 0.0,
            ..Demands::default()
        },
        distribution: Distribution::default(),
        measure_s: 0.2,
        ..usual()
    };
    let (demands, host) = (&run.demands, &run.host);
    let found = figures(&run);
    let client_ns = demands.client_answer_ns + demands.client_ask_ns;
    let way_ns = 2.0 * host.wake_sleeping_ns;
    let query_ns = demand_ns(&run, found.answered) + client_ns + way_ns;
    let off = found.qps() * query_ns / 1e9 - 1.0;
    assert!(off.abs() < 0.002, "{off}");
    assert_eq!((found.cpus, found.busy_ps), (1, found.server_ps));
}

#[test]
fn more_connections_than_cpus_and_a_far_lock_are_worse_than_a_near_one() {
    let with = |near_cpus| VirtualRun {
        cpus: 24,
        connections: 48,
        workers: 2,
        host: HostCosts {
            near_cpus,
            ..HostCosts::default()
        },
        ..usual()
    };
    let (near, far) = (figures(&with(0)), figures(&with(12)));
    assert_eq!(near.handovers_far, 0);
    assert!(far.handovers_far > 0 && far.handovers_near > 0);
    assert!(far.qps() < near.qps());
}

#[test]
fn ten_thousand_connections_are_served() {
    let run = VirtualRun {
        cpus: 256,
        connections: 10_000,
        workers: 4,
        points: 1,
        key_cache: sizes(64 << 20, 64),
        warmup_s: 0.0,
        measure_s: 0.1,
        ..usual()
    };
    let found = figures(&run);
    assert!(found.answered > 1_000, "{}", found.answered);
    assert!(found.begun - found.answered <= 10_000);
}

#[test]
fn roots_of_tables_share_a_segment_if_their_descriptors_say_so() {
    let hottest = |descriptors: &[u32], segments| {
        let found = figures(&VirtualRun {
            descriptors: descriptors.to_vec(),
            distribution: Distribution::Uniform {},
            rows: 100_000,
            key_cache: sizes(64 << 20, segments),
            ..usual()
        });
        let requests = found.segments.iter().map(|one| one.read_requests);
        let all: u64 = requests.clone().sum();
        assert_eq!(found.segments.iter().map(|one| one.reads).sum::<u64>(), 0);
        requests.max().unwrap() as f64 / all as f64
    };
    let one = hottest(&[7], 32);
    assert!((one / hottest(&[7, 39], 32) - 1.0).abs() < 0.03);
    assert!(hottest(&[7, 39], 64) < 0.6 * one);
    assert!(hottest(&[7, 8], 32) < 0.6 * one);
}

#[test]
fn a_seed_is_a_run() {
    let with = |seed| figures(&VirtualRun { seed, ..usual() });
    assert_eq!(with(7), with(7));
    assert_ne!(with(7), with(8));
}

#[test]
fn a_cache_that_is_too_small_reads_and_goes_on() {
    for (key_buffer_size, miss_ns) in [(12 << 10, 0.0), (12 << 10, 20_000.0), (64 << 10, 5_000.0)] {
        let run = VirtualRun {
            connections: 40,
            key_cache: sizes(key_buffer_size, 0),
            demands: Demands {
                miss_ns,
                ..Demands::default()
            },
            ..usual()
        };
        let found = figures(&run);
        assert!(found.answered > 40, "{}", found.answered);
        assert!(found.segments[0].reads > 0);
        assert!(
            found.answers.iter().all(|answers| *answers > 0),
            "{:?}",
            found.answers
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn every_query_is_answered_or_under_way_and_no_cpu_is_busier_than_it_can_be(
        cpus in 1..9u32,
        connections in 1..40u32,
        workers in 1..4u32,
        segments in 0..5u32,
        blocks in 0..3u64,
        in_turn: bool,
        spins in 0..120u32,
        preempts: bool,
        seed: u64,
    ) {
        let run = VirtualRun {
            cpus,
            connections,
            workers,
            key_cache: sizes(64 << (10 + 3 * blocks), segments),
            handing: if in_turn { Handing::InTurn } else { Handing::Barging },
            spins,
            host: HostCosts {
                near_cpus: cpus / 2,
                slice_ns: 100_000.0,
                preempt_ns: preempts.then_some(1_000.0),
                ..HostCosts::default()
            },
            demands: Demands { miss_ns: 30_000.0, ..Demands::default() },
            seed,
            warmup_s: 0.0,
            measure_s: 0.01,
            ..usual()
        };
        let mut told = 0;
        let found = run.run(&mut |_| told += 1).unwrap();
        prop_assert!(found.begun >= found.answered);
        prop_assert!(found.begun - found.answered <= u64::from(connections));
        prop_assert_eq!(told, found.answered);
        prop_assert!(found.busy_ps <= found.time_ps * u64::from(cpus));
        prop_assert_eq!(found.server_ps + found.client_ps, found.busy_ps);
        for segment in &found.segments {
            prop_assert!(segment.lock.held_ps <= found.time_ps);
            prop_assert!(segment.reads <= segment.read_requests);
        }
        prop_assert!(found.visits() > 0);
    }
}
