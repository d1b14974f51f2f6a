//! Threads that compute, sleep and wake: which run, where and for how long.
#![allow(clippy::unwrap_used)]
use super::*;

const MS: Ps = 1_000_000_000;

fn machine(cpus: usize, threads: u32, costs: &HostCosts) -> Machine {
    let mut machine = Machine::new(cpus, 0, (0..threads).map(|_| RunsOn::Server), costs);
    (0..threads).for_each(|thread| machine.start(thread));
    machine
}

fn costs() -> HostCosts {
    HostCosts {
        wake_polling_ns: 0.0,
        wake_sleeping_ns: 0.0,
        switch_ns: 0.0,
        slice_ns: 1e6,
        ..HostCosts::default()
    }
}

/// Every thread computes all the time, `step_ps` between two steps.
fn compute(machine: &mut Machine, step_ps: Ps, until_ps: Ps) -> Vec<Ps> {
    while let Some(moment) = machine.next_step(until_ps) {
        machine.spend(moment, step_ps);
    }
    let threads = machine.threads.len() as u32;
    (0..threads).map(|thread| machine.ran_ps(thread)).collect()
}

#[test]
fn threads_that_compute_share_a_cpu_alike() {
    let mut machine = machine(1, 3, &costs());
    let ran = compute(&mut machine, 7 * MS, 300 * MS);
    assert_eq!(ran, [100 * MS; 3]);
    assert_eq!(machine.server_busy_ps().sum::<Ps>(), 300 * MS);
    assert!(
        machine.happened.preemptions >= 299,
        "{:?}",
        machine.happened
    );
}

#[test]
fn a_cpu_each_needs_no_switch_but_the_first() {
    let mut machine = machine(4, 4, &costs());
    assert_eq!(compute(&mut machine, MS, 100 * MS), [100 * MS; 4]);
    assert_eq!(
        (machine.happened.switches, machine.happened.preemptions),
        (4, 0)
    );
}

#[test]
fn a_step_is_not_shorter_for_being_interrupted() {
    let mut machine = machine(1, 2, &costs());
    let mut steps = [0; 2];
    while let Some(moment) = machine.next_step(400 * MS) {
        steps[moment.thread as usize] += 1;
        machine.spend(moment, 10 * MS);
    }
    // The first of each is due at once.
    assert_eq!(steps, [21, 20]);
}

#[test]
fn who_is_idle_takes_from_who_has_many() {
    for (steals, busy) in [(true, 2), (false, 1)] {
        let costs = HostCosts { steals, ..costs() };
        let mut machine = Machine::new(2, 0, (0..3).map(|_| RunsOn::Server), &costs);
        // Both CPUs have one; the third comes to the second, whose own thread then sleeps.
        (0..3).for_each(|thread| machine.start(thread));
        let mut slept = false;
        while let Some(moment) = machine.next_step(100 * MS) {
            let shares = machine.cpus[usize::from(moment.cpu)].queue.len();
            if !slept && shares == 0 {
                slept = true;
                machine.block(moment);
            } else {
                machine.spend(moment, MS);
            }
        }
        assert_eq!(machine.idle.within(0..2).count(), 2 - busy, "{steals}");
        assert_eq!(machine.happened.steals, u64::from(steals));
    }
}

#[test]
fn who_wakes_takes_the_cpu_at_once_only_if_told_so() {
    for (preempt_ns, waits_ps) in [(None, MS), (Some(1e3), MS / 2)] {
        let costs = HostCosts {
            preempt_ns,
            ..costs()
        };
        let mut machine = Machine::new(1, 0, (0..2).map(|_| RunsOn::Server), &costs);
        machine.start(0);
        let first = machine.next_step(MS).unwrap();
        machine.spend(first, MS / 2);
        let waker = machine.next_step(MS).unwrap();
        machine.wake(waker, 1);
        machine.spend(waker, 50 * MS);
        let woken = machine.next_step(50 * MS).unwrap();
        assert_eq!(
            (woken.thread, woken.now_ps),
            (1, waits_ps),
            "{preempt_ns:?}"
        );
    }
}

#[test]
fn a_sleep_ends_by_itself() {
    let mut machine = machine(
        1,
        1,
        &HostCosts {
            timer_ns: 1e6,
            ..costs()
        },
    );
    let moment = machine.next_step(MS).unwrap();
    machine.sleep(moment, 5 * MS);
    let again = machine.next_step(50 * MS).unwrap();
    assert_eq!((again.thread, again.now_ps), (0, 6 * MS));
}

#[test]
fn a_thread_that_is_kept_on_a_cpu_waits_for_it() {
    let mut machine = Machine::new(2, 0, [RunsOn::Cpu(1); 2].into_iter(), &costs());
    machine.start(0);
    machine.start(1);
    let ran = compute(&mut machine, MS, 100 * MS);
    assert_eq!(ran.iter().sum::<Ps>(), 100 * MS);
    assert_eq!(machine.server_busy_ps().collect::<Vec<_>>(), [0, 100 * MS]);
}

#[test]
fn an_idle_cpu_near_the_last_is_preferred() {
    let costs = HostCosts {
        near_cpus: 4,
        ..costs()
    };
    let mut machine = Machine::new(8, 0, (0..10).map(|_| RunsOn::Server), &costs);
    // The first thread begins near CPU 0, the second near CPU 4, and so on in turn.
    machine.start(3);
    assert_eq!(machine.cpus[5].thread, 3);
    assert_eq!(machine.nearest_idle(5), Some(4));
    assert_eq!(machine.nearest_idle(2), Some(0));
    (2..8).for_each(|cpu| machine.idle.remove(cpu));
    assert_eq!(machine.nearest_idle(5), Some(0));
}

#[test]
fn cpus_of_a_core_slow_each_other_down_while_both_run() {
    let costs = HostCosts {
        core_cpus: 2,
        core_share: 0.5,
        ..costs()
    };
    for (threads, each) in [(1, 100), (2, 50)] {
        let mut machine = Machine::new(2, 0, (0..threads).map(|_| RunsOn::Server), &costs);
        (0..threads).for_each(|thread| machine.start(thread));
        let mut steps = vec![0; threads as usize];
        while let Some(moment) = machine.next_step(100 * MS) {
            steps[moment.thread as usize] += 1;
            machine.spend(moment, MS);
        }
        let about = |count: &u64| (each..=each + 1).contains(count);
        assert!(steps.iter().all(about), "{steps:?}");
    }
}

#[test]
fn an_idle_core_is_preferred_to_an_idle_cpu_among_the_near_ones() {
    let costs = HostCosts {
        near_cpus: 4,
        core_cpus: 2,
        ..costs()
    };
    let mut machine = Machine::new(8, 0, (0..8).map(|_| RunsOn::Server), &costs);
    // A core for each of the first four threads, near and far in turn; then their other CPUs.
    let order: Vec<_> = machine.threads.iter().map(|one| one.cpu).collect();
    assert_eq!(order, [0, 4, 2, 6, 1, 5, 3, 7]);
    machine.start(0);
    assert_eq!(machine.nearest_idle(0), Some(2));
    machine.start(2);
    assert_eq!(machine.nearest_idle(0), Some(1));
    machine.start(4);
    machine.start(6);
    machine.start(1);
    assert_eq!(machine.nearest_idle(0), Some(6));
}

/// The first thread runs again when the second has run for `others_ps`, on the same CPU or not.
fn comes_back_after(others_ps: Ps, kept: [u16; 2]) -> Ps {
    let costs = HostCosts {
        cold_ns: 4e5,
        warm_ns: 2e6,
        ..costs()
    };
    let mut machine = Machine::new(2, 0, kept.map(RunsOn::Cpu).into_iter(), &costs);
    machine.start(0);
    let first = machine.next_step(100 * MS).unwrap();
    machine.block(first);
    machine.start(1);
    let second = machine.next_step(100 * MS).unwrap();
    machine.spend(second, others_ps);
    let second = machine.next_step(100 * MS).unwrap();
    machine.wake(second, 0);
    machine.block(second);
    machine.next_step(100 * MS).unwrap().now_ps - others_ps
}

#[test]
fn a_thread_comes_back_to_cold_caches_as_long_as_others_ran() {
    assert_eq!(comes_back_after(2 * MS, [0, 0]), 400_000_000);
    assert_eq!(comes_back_after(3 * MS, [0, 0]), 400_000_000);
    assert_eq!(comes_back_after(MS / 2, [0, 0]), 100_000_000);
    // The others ran on a different CPU.
    assert_eq!(comes_back_after(3 * MS, [0, 1]), 0);
}

#[test]
fn the_client_has_its_own_cpus() {
    let threads = [RunsOn::Server; 4].into_iter().chain([RunsOn::Client; 3]);
    let mut machine = Machine::new(2, 2, threads, &costs());
    (0..7).for_each(|thread| machine.start(thread));
    while let Some(moment) = machine.next_step(50 * MS) {
        assert_eq!(moment.cpu < 2, moment.thread < 4, "{moment:?}");
        machine.spend(moment, MS);
    }
    let ran: Vec<Ps> = (0..7).map(|thread| machine.ran_ps(thread)).collect();
    assert_eq!(ran.iter().sum::<Ps>(), 4 * 50 * MS);
    assert_eq!(ran[..4], [25 * MS; 4]);
    assert_eq!(machine.server_busy_ps().sum::<Ps>(), 2 * 50 * MS);
}
