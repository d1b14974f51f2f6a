//! The files that scripts load besides their own: which are allowed, and which were loaded.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where the scripts of a run look for modules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// As sysbench: where the environment names them, else in the usual places.
    #[default]
    Sysbench,
    /// In the usual places. The modules of a plan do not depend on the environment.
    Usual,
    /// Only among the scripts of this program.
    Bundled,
}

impl Search {
    /// The path in `variable`, or the usual places, as far as they count.
    pub fn path(self, variable: &str, usual: impl FnOnce() -> String) -> String {
        match self {
            Self::Sysbench => path_of(variable, &usual()),
            Self::Usual => usual(),
            Self::Bundled => String::new(),
        }
    }
}

/// Where the scripts of a run look for modules, and the files that they have loaded.
#[derive(Debug, Default)]
pub struct Loaded {
    pub search: Search,
    files: Mutex<LoadedFiles>,
}

#[derive(Debug, Default)]
struct LoadedFiles {
    by_body: Vec<PathBuf>,
    /// By the functions that the body defines.
    later: Vec<PathBuf>,
    is_body_over: bool,
}

impl Loaded {
    pub fn new(search: Search) -> Self {
        Self {
            search,
            files: Mutex::default(),
        }
    }

    /// The files that the body of a plan's script has loaded, in that order.
    pub fn by_body(&self) -> Vec<String> {
        in_words(&self.lock().by_body)
    }

    /// Those that were loaded after it, and not by it.
    pub fn later(&self) -> Vec<String> {
        in_words(&self.lock().later)
    }

    /// The body has run for the first time.
    pub fn end_body(&self) {
        self.lock().is_body_over = true;
    }

    /// Notes a file that a script loads.
    pub fn note(&self, path: &str) {
        // The reader of a missing file reports it.
        let Ok(path) = Path::new(path).canonicalize() else {
            return;
        };
        let mut files = self.lock();
        if files.by_body.contains(&path) || files.later.contains(&path) {
            return;
        }
        match files.is_body_over {
            true => files.later.push(path),
            false => files.by_body.push(path),
        }
    }

    fn lock(&self) -> MutexGuard<'_, LoadedFiles> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn in_words(paths: &[PathBuf]) -> Vec<String> {
    paths
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

/// The path of an environment variable, in which `;;` stands for `default`; else `default`.
fn path_of(variable: &str, default: &str) -> String {
    match std::env::var(variable) {
        Ok(path) => path.replace(";;", &format!(";{default};")),
        Err(_) => default.to_owned(),
    }
}
