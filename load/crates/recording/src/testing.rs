//! A folder of a test, and recordings in it.

use crate::entry::LogEntry;
use crate::formats::LogFormat;
use crate::import::Importer;
use crate::input::LogInput;
use contend_sql::Mode;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// Removed at its end.
pub struct Folder(pub PathBuf);

impl Folder {
    #[allow(clippy::unwrap_used)]
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("contend-recording-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes a recording of a general log.
#[allow(clippy::unwrap_used)]
pub fn import(folder: &Folder, log: &str) -> PathBuf {
    let (from, to) = (folder.0.join("log"), folder.0.join("recording"));
    fs::write(&from, log).unwrap();
    let mut reader = LogFormat::General.reader(Mode::default());
    let mut importer = Importer::new(&to, Mode::default()).unwrap();
    let input = LogInput::open(&from.display().to_string()).unwrap();
    let mut take = |entry: LogEntry<'_>| importer.take(entry);
    let bytes = input.read(&mut *reader, 0, &mut take, &mut |_| Ok(()));
    importer
        .finish("general", bytes.unwrap(), &*reader)
        .unwrap();
    to
}

/// Lines of a general log: milliseconds after its beginning, a session, and what it sends.
/// Each session is connected before, and those whose last text is `quit` end.
pub fn general_log(entries: &[(u64, u32, &str)]) -> String {
    let stamp = |ms: u64| {
        let (second, minute) = (ms / 1000 % 60, ms / 60_000);
        format!("2026-11-02T10:{minute:02}:{second:02}.{:03}000Z", ms % 1000)
    };
    let mut log = String::new();
    let mut known = BTreeSet::new();
    for (ms, session, text) in entries {
        if known.insert(session) {
            let user = "app@localhost on shop using Socket";
            log += &format!("{}\t    {session} Connect\t{user}\n", stamp(*ms));
        }
        log += &match *text {
            "quit" => format!("{}\t    {session} Quit\t\n", stamp(*ms)),
            text => format!("{}\t    {session} Query\t{text}\n", stamp(*ms)),
        };
    }
    log
}
