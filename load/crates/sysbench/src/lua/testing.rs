//! Runs and states without a server, for unit tests that deal with scripts.

#![allow(clippy::unwrap_used)]
use super::chunks::Chunks;
use super::database::{DRIVER, Database};
use super::figures::{ScriptFigures, ThreadFigures};
use super::loaded::Loaded;
use super::log::{Level, Log};
use super::options::ScriptOptions;
use super::run::{Compat, Draws, LoadedScript, Run, Stop};
use super::state::State;
use super::states::States;
use super::thread_io::{Answered, Connected, ThreadIo, Turn, client_error};
use contend_client::request::{LinkNumber, Reply};
use contend_engine::arrival::Dispenser;
use contend_engine::workload::EventTimes;
use contend_random::Shape;
use contend_wire::ServerError;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// A run of a script by `threads` threads.
pub fn run_of(source: &str, threads: usize) -> Arc<Run> {
    Arc::new(Run {
        compat: Compat::V1_0,
        known: ScriptOptions::default(),
        late: OnceLock::new(),
        arguments: Vec::new(),
        command: None,
        script: LoadedScript {
            name: Some("test".to_owned()),
            chunk_name: "=test".to_owned(),
            source: source.as_bytes().to_vec(),
            bundled: false,
        },
        loaded: Loaded::default(),
        draws: Draws {
            seed: 1,
            default: Shape::Uniform,
            gaussian: Shape::Uniform,
            special: Shape::Uniform,
            pareto: Shape::Uniform,
            zipfian: Shape::Uniform,
        },
        database: Database {
            driver: DRIVER.to_owned(),
            dry_run: true,
            ..Database::default()
        },
        log: Arc::new(Log::new(Level::Fatal as u8)),
        chunks: Chunks::default(),
        figures: ScriptFigures::new(threads),
        errors: Mutex::default(),
        stop: Stop::default(),
        dispenser: Arc::new(Dispenser::new(None, None)),
        may_block: Mutex::default(),
        states: States::default(),
    })
}

/// The first state of a run, whose script has been run.
pub fn state_of(run: &Arc<Run>) -> State {
    let state = State::new(Arc::clone(run), 0, Box::new(Nowhere)).unwrap();
    state.run_script().unwrap();
    state
}

/// ThreadIo from which no server is reached.
pub struct Nowhere;

impl ThreadIo for Nowhere {
    fn connect(&mut self, _endpoint: usize) -> Result<Connected, ServerError> {
        Err(client_error(client_error::CANNOT_CONNECT, "nowhere"))
    }

    fn disconnect(&mut self, _link: LinkNumber) {}

    fn exchange(
        &mut self,
        _link: LinkNumber,
        _reply: Reply,
        _about: &[u8],
        _write: &mut dyn FnMut(&mut Vec<u8>),
        _bytes: &mut Vec<u8>,
    ) -> Result<Answered, ServerError> {
        Err(client_error(client_error::GONE, "nowhere"))
    }

    fn sleep(&mut self, _span: Duration) {}

    fn event_ended(&mut self, _due: Instant, _times: EventTimes, _figures: &ThreadFigures) {}

    fn next_event(&mut self) -> Turn {
        Turn::Over
    }

    fn is_over(&self) -> bool {
        true
    }

    fn ready(&mut self) {}
}
