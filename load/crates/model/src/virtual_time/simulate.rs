//! The whole simulation, for a given time: client, sockets, threads of the server, cache and CPUs.

use super::agenda::Ps;
use super::client::{ClientEvents, ClientWorker};
use super::costs::{HostCosts, ps};
use super::demands::{Demands, ServerPs, Variation};
use super::figures::{SegmentFigures, VirtualFigures};
use super::key_cache::VirtualKeyCache;
use super::line::Distances;
use super::lock::{Handing, LockWaiting};
use super::machine::{CPUS_MAX, Machine, Moment, RunsOn};
use super::server::{NowDoes, ServerThread, ServerWorld};
use super::sockets::Sockets;
use crate::sizes::BLOCKS_MIN;
use crate::{Index, KeyCacheSizes, Parting, PointQuery, Segment};
use contend_random::Distribution;
use contend_random::{Sampler, Shape, Stream};

/// More connections than that are a slip.
pub const CONNECTIONS_MAX: u32 = 10_000;

/// The configuration of a run.
#[derive(Clone, Debug)]
pub struct VirtualRun {
    pub cpus: u32,
    /// CPUs of the client alone, besides those; 0: client and server share the CPUs.
    pub client_cpus: u32,
    pub connections: u32,
    /// Threads of the client, each with its part of the connections.
    pub workers: u32,
    pub rows: u32,
    pub points: u32,
    pub distribution: Distribution,
    pub seed: u64,
    pub key_cache: KeyCacheSizes,
    /// The index file of each table; a query asks one of them. All have the same rows.
    pub descriptors: Vec<u32>,
    pub handing: Handing,
    pub spins: u32,
    pub host: HostCosts,
    pub demands: Demands,
    pub warmup_s: f64,
    pub measure_s: f64,
}

impl VirtualRun {
    /// # Errors
    /// A text that names the impossible setting.
    pub fn check(&self) -> Result<(), String> {
        self.host.check()?;
        self.demands.check()?;
        if !(1..=CPUS_MAX as u32).contains(&self.cpus) {
            return Err(format!("{} CPUs: use 1 to {CPUS_MAX}", self.cpus));
        }
        if self.cpus.saturating_add(self.client_cpus) > CPUS_MAX as u32 {
            let (cpus, own) = (self.cpus, self.client_cpus);
            return Err(format!(
                "{cpus} CPUs and client_cpus = {own}: use at most {CPUS_MAX} in all"
            ));
        }
        if !(1..=CONNECTIONS_MAX).contains(&self.connections) {
            let connections = self.connections;
            return Err(format!(
                "{connections} connections: use 1 to {CONNECTIONS_MAX}"
            ));
        }
        self.key_cache
            .blocks_each()
            .map_err(|error| error.to_string())?;
        self.pages().map(drop)
    }

    /// The pages of all tables.
    fn pages(&self) -> Result<u32, String> {
        let (tables, rows) = (self.descriptors.len(), self.rows);
        if tables == 0 {
            return Err("no table; add a descriptor".to_owned());
        }
        let pages = Index::new(rows).pages() as usize * tables;
        u32::try_from(pages)
            .map_err(|_| format!("{tables} tables of {rows} rows have too many pages to number"))
    }

    /// Runs it. `record` gets each response time of the measured part, in picoseconds.
    ///
    /// # Errors
    /// Like [`Self::check`].
    pub fn run(&self, record: &mut dyn FnMut(Ps)) -> Result<VirtualFigures, String> {
        self.check()?;
        let mut simulation = Simulation::new(self)?;
        let warmup_ps = ps(self.warmup_s * 1e9);
        let end_ps = warmup_ps + ps(self.measure_s * 1e9);
        simulation.run_until(warmup_ps, &mut |_| ());
        let before = simulation.look();
        simulation.run_until(end_ps, record);
        Ok(simulation.look().since(&before))
    }
}

struct Simulation {
    machine: Machine,
    sockets: Sockets,
    cache: VirtualKeyCache,
    servers: Vec<ServerThread>,
    workers: Vec<ClientWorker>,
    demands: ServerPs,
    spread: Variation,
    seed: u64,
    points: u32,
    keys: Sampler,
    begun: u64,
    answered: u64,
    batches: u64,
    progress: u64,
}

/// Streams of the run's seed that are not those of its events.
const LOCKS: u64 = 0;
const SPREADS: u64 = 1;

impl Simulation {
    fn new(run: &VirtualRun) -> Result<Self, String> {
        let sizes = run.key_cache;
        let index = Index::new(run.rows);
        let blocks = sizes.blocks_each().map_err(|error| error.to_string())?;
        // No segment has more pages than the files.
        let blocks = blocks.min(run.pages()?.max(BLOCKS_MIN));
        let segment = |_| {
            let limit = sizes.key_cache_division_limit;
            Segment::new(blocks, limit, sizes.key_cache_age_threshold)
        };
        let query = PointQuery::new(&index);
        let cache = VirtualKeyCache::new(
            index,
            run.descriptors.iter().map(|descriptor| Parting {
                descriptor: *descriptor,
                segments: sizes.segments(),
            }),
            (0..sizes.segments()).map(segment),
            LockWaiting::new(run.handing, run.spins, &run.host),
            Distances::new(&run.host),
            Stream::new(run.seed, LOCKS),
        );
        let workers = run.workers.clamp(1, run.connections);
        // Like contend-load: each has a CPU of its own, if none is left over.
        let (first, cpus) = match run.client_cpus {
            0 => (0, run.cpus),
            own => (run.cpus, own),
        };
        let runs_on = |worker: u32| match workers == cpus {
            true => RunsOn::Cpu((first + worker) as u16),
            false => RunsOn::Client,
        };
        let threads = (0..run.connections)
            .map(|_| RunsOn::Server)
            .chain((0..workers).map(runs_on));
        let (own, client) = (run.cpus as usize, run.client_cpus as usize);
        let mut machine = Machine::new(own, client, threads, &run.host);
        (0..workers).for_each(|worker| machine.start(run.connections + worker));
        let demands = run.demands.of_client();
        let of_worker = |worker| (worker..run.connections).step_by(workers as usize);
        let workers =
            (0..workers).map(|number| ClientWorker::new(number, of_worker(number), demands));
        let workers: Vec<_> = workers.collect();
        Ok(Self {
            sockets: Sockets::new(run.connections, workers.len() as u32),
            cache,
            servers: (0..run.connections)
                .map(|number| ServerThread::new(number, query.clone()))
                .collect(),
            workers,
            machine,
            demands: run.demands.of_server(sizes.key_cache_segments > 0),
            spread: Variation::new(run.demands.spread, Stream::new(run.seed, SPREADS)),
            seed: run.seed,
            points: run.points,
            keys: Sampler::new(Shape::new(&run.distribution), 1, u64::from(run.rows)),
            begun: 0,
            answered: 0,
            batches: 0,
            progress: 0,
        })
    }

    fn run_until(&mut self, until_ps: Ps, record: &mut dyn FnMut(Ps)) {
        let mut keys = Vec::with_capacity(self.points as usize);
        let (seed, points, sampler) = (self.seed, self.points, self.keys);
        let tables = self.cache.tables();
        let mut draw =
            |cycle, keys: &mut Vec<u32>| draw_keys(seed, cycle, tables, points, &sampler, keys);
        let mut events = ClientEvents {
            begun: self.begun,
            answered: self.answered,
            batches: self.batches,
            record,
        };
        while let Some(moment) = self.machine.next_step(until_ps) {
            let thread = moment.thread as usize;
            let does = match self.servers.get_mut(thread) {
                Some(server) => server.step(
                    moment,
                    &mut ServerWorld {
                        machine: &mut self.machine,
                        sockets: &mut self.sockets,
                        cache: &mut self.cache,
                        demands: &self.demands,
                        spread: &mut self.spread,
                        draw: &mut draw,
                        keys: &mut keys,
                        progress: &mut self.progress,
                    },
                ),
                None => {
                    let worker = &mut self.workers[thread - self.servers.len()];
                    let (machine, spread) = (&mut self.machine, &mut self.spread);
                    match worker.step(moment, &mut self.sockets, machine, &mut events, spread) {
                        Some(ps) => NowDoes::Computes(ps),
                        None => NowDoes::Waits,
                    }
                }
            };
            self.does(moment, does);
        }
        (self.begun, self.answered, self.batches) = (events.begun, events.answered, events.batches);
    }

    #[inline]
    fn does(&mut self, moment: Moment, does: NowDoes) {
        match does {
            NowDoes::Computes(ps) => self.machine.spend(moment, ps),
            NowDoes::Waits => self.machine.block(moment),
            NowDoes::Sleeps(ps) => self.machine.sleep(moment, ps),
        }
    }

    /// The counts since the beginning.
    fn look(&self) -> VirtualFigures {
        let of = |threads: std::ops::Range<usize>| -> Ps {
            threads
                .map(|number| self.machine.ran_ps(number as u32))
                .sum()
        };
        let connections = self.servers.len();
        VirtualFigures {
            time_ps: self.machine.now_ps(),
            cpus: self.machine.server_busy_ps().count() as u64,
            busy_ps: self.machine.server_busy_ps().sum(),
            begun: self.begun,
            answered: self.answered,
            batches: self.batches,
            points: self.points,
            progress: self.progress,
            answers: self.sockets.answers().collect(),
            server_ps: of(0..connections),
            client_ps: of(connections..connections + self.workers.len()),
            happened: self.machine.happened,
            handovers_near: self.cache.distances.near,
            handovers_far: self.cache.distances.far,
            segments: self
                .cache
                .each()
                .map(|(lock, segment)| SegmentFigures::new(lock.counts, segment.counters()))
                .collect(),
        }
    }
}

/// The keys of an event and its table, from 0: those that contend-load asks for in the event of
/// this number.
pub fn draw_keys(
    seed: u64,
    cycle: u64,
    tables: u32,
    points: u32,
    sampler: &Sampler,
    keys: &mut Vec<u32>,
) -> u32 {
    let mut stream = Stream::for_cycle(seed, cycle);
    let table = match tables {
        1 => 0,
        _ => stream.below(u64::from(tables)) as u32,
    };
    keys.clear();
    keys.extend((0..points).map(|_| sampler.draw(&mut stream) as u32));
    table
}
