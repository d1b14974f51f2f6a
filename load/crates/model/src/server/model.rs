//! What all threads of the model server share.

use super::counts::{CountSum, StallCounts, TruthCounts};
use super::files::{RowSource, data_file, index_file};
use super::key_cache::KeyCache;
use super::locks::{AnyLock, IndexLock};
use super::spin::Spinner;
use super::truth::TruthFile;
use super::turnstile::Turnstile;
use crate::refusals;
use crate::sql::Assignment;
use crate::variables;
use crate::variables::{Effect, ServerVariables};
use crate::{Index, KeyCacheSizes, Knobs, ModelRows, PagesFrom, Parting};
use contend_figures::outcome::Failure;
use contend_reactor::clock::{Ticks, nanoseconds, process_cpu_ns};
use contend_reactor::listeners::Listening;
use contend_servers::serve::Refusal;
use serde_json::{Value, json};
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The settings of a model server.
#[derive(Clone, Debug)]
pub struct ModelService {
    pub socket: Option<PathBuf>,
    /// On the loopback address only; 0 takes a free port.
    pub port: Option<u16>,
    pub rows: u32,
    pub seed: u64,
    /// The folder of the data file and the index file; none for rows that are made when they are
    /// read.
    pub rows_in: Option<PathBuf>,
    pub variables: ServerVariables,
    pub knobs: Knobs,
    /// The file that the truth is written to.
    pub truth: Option<PathBuf>,
}

/// How long the counter of ticks is compared with the clock before anybody spins by it.
const COMPARED_FOR: Duration = Duration::from_millis(20);

pub struct Model {
    pub index: Index,
    pub rows: RowSource,
    pub index_file: Option<File>,
    pub knobs: Knobs,
    pub work: SpunWork,
    pub spinner: Spinner,
    pub ticks: Ticks,
    pub index_lock: IndexLock,
    pub second_lock: AnyLock,
    pub row_lock: AnyLock,
    pub cache: Arc<Turnstile<KeyCache>>,
    pub counts: TruthCounts,
    pub clients: ClientNumbers,
    pub stalls: StallCounts,
    truth: TruthFile,
    begun: Instant,
    begun_ticks: u64,
    variables: Mutex<ServerVariables>,
    epoch: Mutex<Epoch>,
}

/// The work to spin, in ticks; 0 for none.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpunWork {
    pub under_lock: u64,
    pub outside_lock: u64,
    pub second_lock: u64,
    pub row_lock: u64,
    /// The row that has a lock: the middle one.
    pub locked_row: u32,
}

/// How many clients there are and were.
#[derive(Debug, Default)]
pub struct ClientNumbers {
    pub connected: AtomicU64,
    pub most: AtomicU64,
    /// Each got a thread.
    pub admitted: AtomicU64,
    pub turned_away: AtomicU64,
    pub prepared: AtomicU64,
}

/// The time in which the cache does not change: visits are counted by segment from its beginning.
#[derive(Debug, Default)]
struct Epoch {
    number: u64,
    /// What had been counted before it.
    before: CountSum,
}

impl Model {
    /// # Errors
    /// Settings that do not go together, or files that cannot be written or read.
    pub fn new(service: &ModelService) -> Result<Self, Failure> {
        let ticks = Ticks::begin();
        let begun = Instant::now();
        let index = Index::new(service.rows);
        let folder = service.rows_in.as_deref();
        let rows = match folder {
            Some(folder) => RowSource::File(data_file(folder, service.rows, service.seed)?),
            None => RowSource::Memory(ModelRows::new(service.seed, service.rows)),
        };
        let index_file = match (service.knobs.miss, folder) {
            (PagesFrom::Read, Some(folder)) => Some(index_file(folder, &index)?),
            (PagesFrom::Read, None) => {
                return Err(Failure {
                    hint: Some("set --rows-in FOLDER".to_owned()),
                    ..Failure::plain("knob miss=read: pages are read from a file of the index")
                });
            }
            (PagesFrom::Computed, _) => None,
        };
        std::thread::sleep(COMPARED_FOR.saturating_sub(begun.elapsed()));
        let spinner = Spinner::new(ticks);
        let knobs = service.knobs.clone();
        let spun = |ns: u64| spinner.ticks(ns as f64);
        let cache = made(service.variables.sizes(), index_file.as_ref(), &knobs);
        let cache = cache.map_err(|refusal| Failure::plain(refusal.message))?;
        Ok(Self {
            work: SpunWork {
                under_lock: spun(knobs.under_lock_ns),
                outside_lock: spun(knobs.outside_lock_ns),
                second_lock: spun(knobs.second_lock_ns),
                row_lock: spun(knobs.row_lock_ns),
                locked_row: service.rows.div_ceil(2),
            },
            index,
            rows,
            index_file,
            spinner,
            ticks,
            index_lock: IndexLock::new(),
            second_lock: AnyLock::new(knobs.lock),
            row_lock: AnyLock::new(knobs.lock),
            knobs,
            cache: Arc::new(Turnstile::new(cache)),
            counts: TruthCounts::default(),
            clients: ClientNumbers::default(),
            stalls: StallCounts::default(),
            truth: TruthFile::open(service.truth.as_deref())?,
            begun,
            begun_ticks: ticks.now(),
            variables: Mutex::new(service.variables.clone()),
            epoch: Mutex::new(Epoch::default()),
        })
    }

    pub fn uptime(&self) -> Duration {
        self.begun.elapsed()
    }

    /// The additional work of a query by now compared with the beginning, in ticks.
    #[inline]
    pub fn leaked(&self) -> u64 {
        let uptime_ticks = self.spinner.now().wrapping_sub(self.begun_ticks);
        // Both in ticks: the ratio is the same in seconds.
        (uptime_ticks as f64 * self.knobs.leak_ns_per_s / 1e9) as u64
    }

    /// Sets the variables for the addresses that clients connect to.
    pub fn tell_where(&self, listening: &Listening) {
        let mut variables = self.variables();
        if let Some(socket) = &listening.socket {
            variables.tell("socket", socket.display().to_string());
        }
        if let Some(port) = listening.port {
            variables.tell("port", port.to_string());
        }
    }

    /// Lets in one more client.
    ///
    /// # Errors
    /// There are as many clients as there may be.
    pub fn admit(&self) -> Result<(), Refusal> {
        let clients = &self.clients;
        // Only the thread that accepts clients adds to it.
        let now = clients.connected.load(Ordering::Relaxed) + 1;
        if now > self.variables().max_connections() {
            clients.turned_away.fetch_add(1, Ordering::Relaxed);
            return Err(refusals::too_many_connections());
        }
        clients.connected.fetch_add(1, Ordering::Relaxed);
        clients.most.fetch_max(now, Ordering::Relaxed);
        clients.admitted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// A client that was admitted has no thread, and is gone.
    pub fn lost(&self) {
        self.clients.connected.fetch_sub(1, Ordering::Relaxed);
        self.clients.turned_away.fetch_add(1, Ordering::Relaxed);
    }

    pub fn variables(&self) -> MutexGuard<'_, ServerVariables> {
        locked(&self.variables)
    }

    /// Gives variables their values, all of them or none. If this changes the cache, queries that
    /// are inside end first, and no new one comes in meanwhile. The caller is not inside.
    ///
    /// # Errors
    /// One of them cannot have its value.
    pub fn set_global(&self, assignments: &[Assignment<'_>]) -> Result<(), Refusal> {
        let mut variables = self.variables();
        let mut changed = variables.clone();
        let (mut anew, mut limits) = (false, false);
        for assignment in assignments {
            let effect;
            (changed, effect) = changed.set(assignment.name, assignment.value)?;
            anew |= effect == Effect::Cache;
            limits |= effect == Effect::Limits;
        }
        let sizes = changed.sizes();
        if anew {
            // Made first, so that queries wait no longer than it takes to put it in place.
            let cache = made(sizes, self.index_file.as_ref(), &self.knobs)?;
            let mut shut = self.cache.shut();
            self.end_epoch(&shut);
            let old = std::mem::replace(&mut *shut, cache);
            drop(shut);
            drop(old);
        } else if limits {
            let mut shut = self.cache.shut();
            shut.set_limits(sizes);
        }
        *variables = changed;
        Ok(())
    }

    /// No query is inside: all counts until now were made with this cache.
    fn end_epoch(&self, cache: &KeyCache) {
        self.truth.tell(|| self.counted(cache, false));
        let mut epoch = locked(&self.epoch);
        epoch.number += 1;
        epoch.before = self.counts.sum();
    }

    /// Writes the current truth.
    pub fn tell_truth(&self, ended: bool) {
        self.cache
            .look(|cache| self.truth.tell(|| self.counted(cache, ended)));
    }

    /// All counts since the start; for the segments, since the last change of the cache.
    fn counted(&self, cache: &KeyCache, ended: bool) -> Value {
        let per_ns = self.ticks.per_ns();
        let epoch = locked(&self.epoch);
        let (sum, sizes) = (self.counts.sum(), cache.sizes);
        let mut told = sum.told(per_ns);
        let mut segments = sum
            .since(&epoch.before)
            .told_of_segments(sizes.segments(), per_ns);
        for (segment, counters) in segments.iter_mut().zip(cache.counters()) {
            segment["read_requests"] = counters.read_requests.into();
            segment["reads"] = counters.reads.into();
        }
        told["type"] = "truth".into();
        told["ended"] = ended.into();
        told["uptime_ns"] = nanoseconds(self.uptime()).into();
        told["process_cpu_ns"] = process_cpu_ns(std::process::id()).into();
        told["connections"] = self.clients.admitted.load(Ordering::Relaxed).into();
        told["turned_away"] = self.clients.turned_away.load(Ordering::Relaxed).into();
        told["stalls"] = self.stalls.told(per_ns);
        told["epoch"] = epoch.number.into();
        told["segments"] = segments.into();
        told["key_buffer_size"] = sizes.key_buffer_size.into();
        told["key_cache_segments"] = sizes.key_cache_segments.into();
        told["key_cache_division_limit"] = sizes.key_cache_division_limit.into();
        told["key_cache_age_threshold"] = sizes.key_cache_age_threshold.into();
        told["index"] = json!({
            "rows": self.index.rows(),
            "pages": self.index.pages(),
            "levels": self.index.levels(),
        });
        told["knobs"] = self.knobs.told().into();
        told["clock"] = self.ticks.name().into();
        told
    }
}

fn made(
    sizes: KeyCacheSizes,
    index_file: Option<&File>,
    knobs: &Knobs,
) -> Result<KeyCache, Refusal> {
    let blocks = sizes
        .blocks_each()
        .map_err(|error| variables::impossible(&error))?;
    let parting = Parting {
        descriptor: index_file.map_or(0, |file| file.as_raw_fd().unsigned_abs()),
        segments: sizes.segments(),
    };
    KeyCache::new(sizes, parting, blocks, knobs)
        .ok_or_else(|| variables::no_memory(sizes.key_buffer_size))
}

/// A client that is connected, until this is dropped.
pub struct ConnectedClient(pub Arc<Model>);

impl Drop for ConnectedClient {
    fn drop(&mut self) {
        self.0.clients.connected.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A statement that is prepared, until this is dropped.
pub struct PreparedMark(Arc<Model>);

impl PreparedMark {
    /// # Errors
    /// There are as many as there may be.
    pub fn new(model: &Arc<Model>) -> Result<Self, Refusal> {
        let most = model.variables().max_prepared();
        let before = model.clients.prepared.fetch_add(1, Ordering::Relaxed);
        let mark = Self(Arc::clone(model));
        if before < most {
            return Ok(mark);
        }
        let words = format!(
            "Can't create more than max_prepared_stmt_count statements (current value: {most})"
        );
        Err(Refusal::new(1461, b"42000", words))
    }
}

impl Drop for PreparedMark {
    fn drop(&mut self) {
        self.0.clients.prepared.fetch_sub(1, Ordering::Relaxed);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
