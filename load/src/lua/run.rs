//! What all states of one command line share.

use super::chunks::Chunks;
use super::database::Database;
use super::figures::Figures;
use super::log::Log;
use super::options::ScriptOptions;
use crate::arrival::Dispenser;
use crate::random::Shape;
use crate::record::ErrorTally;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

/// Whose options and words are spoken.
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
    /// As the user named it; none if it came on standard input.
    pub name: Option<String>,
    /// How messages name its lines, with Lua's mark in front: `@oltp.lua`, `=stdin`.
    pub chunk_name: String,
    pub source: Vec<u8>,
    /// One of ours: its tables may be filled the fast way.
    pub bundled: bool,
}

impl LoadedScript {
    /// As messages name it: without its folder.
    pub fn short_name(&self) -> &str {
        let name = self.name.as_deref().unwrap_or("-");
        name.rsplit('/').next().unwrap_or(name)
    }
}

/// Numbers of scripts: which shapes they have and where they begin.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    pub seed: u64,
    /// What `sysbench.rand.default` draws.
    pub default: Shape,
    pub gaussian: Shape,
    pub special: Shape,
    pub pareto: Shape,
    pub zipfian: Shape,
}

/// Shared by the states of all threads.
#[derive(Debug)]
pub struct Run {
    pub compat: Compat,
    /// Options that are no script's.
    pub known: ScriptOptions,
    /// What only the script could say, once its body was run.
    pub late: OnceLock<Late>,
    pub arguments: Vec<String>,
    pub command: Option<String>,
    pub script: LoadedScript,
    pub draws: Draws,
    pub database: Database,
    pub log: Arc<Log>,
    pub chunks: Chunks,
    pub figures: Figures,
    pub errors: Mutex<ErrorTally>,
    /// Has the events that the threads share, if they are limited or due by a schedule.
    pub dispenser: Arc<Dispenser>,
    pub stop: Stop,
    /// Names of functions that may block a thread without the host's knowledge.
    pub may_block: Mutex<Vec<String>>,
}

/// What is known once the body of the script was run.
#[derive(Debug, Default)]
pub struct Late {
    pub options: ScriptOptions,
    /// The help of the script's options, for `print_test_options`.
    pub options_help: String,
    /// The script declares no options: it gets each as a global.
    pub exports_options: bool,
}

impl Run {
    pub fn options(&self) -> &ScriptOptions {
        self.late.get().map_or(&self.known, |late| &late.options)
    }
}

/// Reasons to begin nothing more.
#[derive(Debug, Default)]
pub struct Stop {
    /// A thread failed for good: the others end, and there is no report.
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
