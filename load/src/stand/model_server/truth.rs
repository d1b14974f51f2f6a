//! Where the truth is told: a line of JSON whenever somebody asks for it, and at the end.

use crate::outcome::Failure;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The file of the truth, if there is one. Several servers may append to one after another.
pub struct TruthFile(Option<Mutex<File>>);

impl TruthFile {
    /// # Errors
    /// It cannot be written.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Self(None));
        };
        let file = OpenOptions::new().append(true).create(true).open(path);
        let file =
            file.map_err(|error| Failure::plain(format!("--truth: {}: {error}", path.display())))?;
        Ok(Self(Some(Mutex::new(file))))
    }

    /// Appends a line, in one piece.
    pub fn tell(&self, truth: impl FnOnce() -> Value) {
        let Some(file) = &self.0 else {
            return;
        };
        let mut line = truth().to_string();
        line.push('\n');
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        // A disk that is full must not end the server: whoever reads the file misses the line.
        let _ = file.write_all(line.as_bytes());
    }
}
