//! State that is common to all states of one command line.

use super::chunks::Chunks;
use super::database::Database;
use super::figures::ScriptFigures;
use super::loaded::Loaded;
use super::log::Log;
use super::options::ScriptOptions;
use super::states::States;
use contend_engine::arrival::Dispenser;
use contend_figures::ErrorTally;
use contend_random::Shape;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The version of sysbench whose options and messages are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compat {
    /// sysbench 1.0.20, the last release.
    #[default]
    V1_0,
    /// The development version.
    V1_1,
}

impl Compat {
    pub fn version(self) -> &'static str {
        match self {
            Self::V1_0 => "1.0.20",
            Self::V1_1 => "1.1.0",
        }
    }

    pub fn other(self) -> Self {
        match self {
            Self::V1_0 => Self::V1_1,
            Self::V1_1 => Self::V1_0,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::V1_0 => "1.0",
            Self::V1_1 => "1.1",
        }
    }
}

/// The script that was asked for.
#[derive(Clone, Debug)]
pub struct LoadedScript {
    /// The name that the user gave; none if it came on standard input.
    pub name: Option<String>,
    /// The name of the chunk in Lua's messages, with Lua's prefix: `@oltp.lua`, `=stdin`.
    pub chunk_name: String,
    pub source: Vec<u8>,
    /// The script comes with the program: its tables may be filled by `sysbench.fill`.
    pub bundled: bool,
}

impl LoadedScript {
    /// The name in messages: without the folder.
    pub fn short_name(&self) -> &str {
        let name = self.name.as_deref().unwrap_or("-");
        name.rsplit('/').next().unwrap_or(name)
    }
}

/// Settings of random numbers in scripts: the seed and the distributions.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    pub seed: u64,
    /// The distribution of `sysbench.rand.default`.
    pub default: Shape,
    pub gaussian: Shape,
    pub special: Shape,
    pub pareto: Shape,
    pub zipfian: Shape,
}

/// State that is common to the Lua states of all threads.
#[derive(Debug)]
pub struct Run {
    pub compat: Compat,
    /// The options of sysbench itself, without those that the script declares.
    pub known: ScriptOptions,
    /// Set once the body of the script has run.
    pub late: OnceLock<Late>,
    pub arguments: Vec<String>,
    pub command: Option<String>,
    pub script: LoadedScript,
    pub loaded: Loaded,
    pub draws: Draws,
    pub database: Database,
    pub log: Arc<Log>,
    pub chunks: Chunks,
    pub figures: ScriptFigures,
    pub errors: Mutex<ErrorTally>,
    /// Hands out the events to the threads, if their number is limited or they follow a schedule.
    pub dispenser: Arc<Dispenser>,
    pub stop: Stop,
    /// Names of C functions, libraries and modules of the script that may block the whole thread
    /// without this program knowing.
    pub may_block: Mutex<Vec<String>>,
    /// The threads' states, so that they can be stopped.
    pub states: States,
}

/// Facts that are only known after the body of the script has run.
#[derive(Debug, Default)]
pub struct Late {
    pub options: ScriptOptions,
    /// The help text of the script's options.
    pub options_help: String,
    /// The script declares no options, so it gets each option as a global (version 1.0 only).
    pub exports_options: bool,
}

impl Run {
    /// See [`Self::may_block`].
    pub fn blocking(&self) -> MutexGuard<'_, Vec<String>> {
        self.may_block
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub fn options(&self) -> &ScriptOptions {
        self.late.get().map_or(&self.known, |late| &late.options)
    }
}

/// Whether the threads must begin nothing more, and why.
#[derive(Debug, Default)]
pub struct Stop {
    /// A thread failed finally: the others end, and there is no report.
    failed: AtomicBool,
    /// The time is over, or a signal came.
    over: AtomicBool,
}

impl Stop {
    pub fn fail(&self) {
        self.failed.store(true, Relaxed);
    }

    pub fn has_failed(&self) -> bool {
        self.failed.load(Relaxed)
    }

    pub fn end(&self) {
        self.over.store(true, Relaxed);
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Relaxed) || self.has_failed()
    }
}
