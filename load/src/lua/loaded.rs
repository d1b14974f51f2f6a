//! The files that scripts load beside their own: which those may be, and which they were.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where the scripts of a run look for modules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// As sysbench: where the environment says, else in the usual places.
    #[default]
    Sysbench,
    /// In the usual places. What a plan runs does not depend on the environment.
    Usual,
    /// Only among the scripts of this program.
    Bundled,
}

impl Search {
    /// What `variable` says, or the usual places, as far as they count.
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
    paths: Vec<PathBuf>,
    is_complete: bool,
}

impl Loaded {
    pub fn new(search: Search) -> Self {
        Self {
            search,
            files: Mutex::default(),
        }
    }

    /// The files that the body of a plan's script has loaded, in that order.
    pub fn files(&self) -> Vec<String> {
        let paths = &self.lock().paths;
        paths
            .iter()
            .map(|path| path.display().to_string())
            .collect()
    }

    /// From now on no file is loaded that was not loaded before.
    pub fn complete(&self) {
        self.lock().is_complete = true;
    }

    /// Notes a file that a script loads.
    ///
    /// # Errors
    /// Words for why it must not be loaded.
    pub fn note(&self, path: &str) -> Result<(), String> {
        // What is not there is said by whoever reads it.
        let Ok(path) = Path::new(path).canonicalize() else {
            return Ok(());
        };
        let mut loaded = self.lock();
        if self.search == Search::Sysbench || loaded.paths.contains(&path) {
            return Ok(());
        }
        if loaded.is_complete {
            return Err(format!(
                "{} is loaded after the script's body, too late to be known before the run; load \
                 it at the top of the script",
                path.display()
            ));
        }
        loaded.paths.push(path);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, LoadedFiles> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The path of an environment variable, in which `;;` stands for `default`; else `default`.
fn path_of(variable: &str, default: &str) -> String {
    match std::env::var(variable) {
        Ok(path) => path.replace(";;", &format!(";{default};")),
        Err(_) => default.to_owned(),
    }
}
