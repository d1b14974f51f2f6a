//! Where the truth is written: a line of JSON on each request, and at the end.

use contend_figures::outcome::Failure;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The file of the truth, if there is one. Several servers may append to it one after another, so
/// the torn line of a killed server is cut off: otherwise the next line would join it.
pub struct TruthFile(Option<Mutex<File>>);

impl TruthFile {
    /// # Errors
    /// It cannot be written.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Self(None));
        };
        let opened = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path);
        let file = opened
            .and_then(of_whole_lines)
            .map_err(|error| Failure::plain(format!("--truth: {}: {error}", path.display())))?;
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
        let before = file.metadata().map(|about| about.len());
        // A disk that is full must not end the server: readers of the file miss the line.
        if let (Err(_), Ok(before)) = (file.write_all(line.as_bytes()), before) {
            let _ = file.set_len(before);
        }
    }
}

/// The file without the beginning of a line at its end.
fn of_whole_lines(mut file: File) -> io::Result<File> {
    // Not a file that can be cut: a device, a pipe.
    if !file.metadata()?.is_file() {
        return Ok(file);
    }
    let mut told = Vec::new();
    file.read_to_end(&mut told)?;
    let whole = told.iter().rposition(|&byte| byte == b'\n');
    let whole = whole.map_or(0, |end| end + 1);
    if whole < told.len() {
        file.set_len(whole as u64)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    #[test]
    fn half_a_line_of_a_killed_server_is_not_part_of_the_next() {
        let path = std::env::temp_dir().join(format!("truth-{}.jsonl", std::process::id()));
        for (left, stays) in [
            ("", ""),
            ("{\"a\":1}\n", "{\"a\":1}\n"),
            ("{\"a\":1}\n{\"a", "{\"a\":1}\n"),
            ("{\"a", ""),
        ] {
            fs::write(&path, left).unwrap();
            let truth = TruthFile::open(Some(&path)).unwrap();
            truth.tell(|| Value::from(2));
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{stays}2\n"));
        }
        fs::remove_file(&path).unwrap();
    }
}
