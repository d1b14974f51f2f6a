//! Checks while a table fills: the signal to stop, the disk, and the progress.

use super::generator::RowBatch;
use contend_figures::outcome::Failure;
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Interval between progress reports.
const TOLD_EVERY: Duration = Duration::from_millis(250);
/// A load that stands still for this time may have a full disk below it.
const STANDSTILL: Duration = Duration::from_secs(3);
/// The servers' code for a full disk.
pub const DISK_FULL: u16 = 1021;

/// The server's present work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillPhase {
    /// Rows go to the server.
    Load,
    /// All rows are there; the server makes keys and statistics.
    Keys,
    Done,
}

impl FillPhase {
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Keys => "keys",
            Self::Done => "done",
        }
    }
}

/// Progress of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadProgress {
    pub phase: FillPhase,
    pub rows: u64,
    pub bytes: u64,
    pub elapsed: Duration,
}

/// Shared by all waiting code during one table's load.
pub struct LoadWatch<'a> {
    stop: &'a AtomicBool,
    tell: RefCell<&'a mut dyn FnMut(LoadProgress)>,
    begun: Instant,
    told: Cell<Instant>,
    phase: Cell<FillPhase>,
    rows: Cell<u64>,
    bytes: Cell<u64>,
    checksum: Cell<u64>,
    /// From the start to the last row.
    load_time: Cell<Duration>,
    disk: RefCell<Option<Disk>>,
}

impl<'a> LoadWatch<'a> {
    pub fn new(stop: &'a AtomicBool, tell: &'a mut dyn FnMut(LoadProgress)) -> Self {
        let now = Instant::now();
        Self {
            stop,
            tell: RefCell::new(tell),
            begun: now,
            told: Cell::new(now),
            phase: Cell::new(FillPhase::Load),
            rows: Cell::new(0),
            bytes: Cell::new(0),
            checksum: Cell::new(0),
            load_time: Cell::new(Duration::ZERO),
            disk: RefCell::new(None),
        }
    }

    /// The server's disk is here.
    pub fn look_at(&self, disk: Option<Disk>) {
        self.disk.replace(disk);
    }

    /// Whether a connection should go on waiting.
    ///
    /// # Errors
    /// The reason to wait no longer.
    pub fn ask(&self, waited: Duration) -> Result<(), Failure> {
        self.go_on()?;
        if waited > STANDSTILL
            && let Some(disk) = self.disk.borrow().as_ref()
            && disk.is_full()
        {
            return Err(Failure {
                code: Some(DISK_FULL),
                ..Failure::plain(format!(
                    "the disk of {} is full, and the server is waiting for space",
                    disk.folder.display()
                ))
            });
        }
        Ok(())
    }

    /// Reports progress when it is due, and checks for a signal.
    ///
    /// # Errors
    /// There was one.
    pub fn go_on(&self) -> Result<(), Failure> {
        if self.told.get().elapsed() >= TOLD_EVERY {
            self.tell();
        }
        heed(self.stop)
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// These rows are with the server.
    pub fn sent(&self, part: &RowBatch) {
        self.rows.set(self.rows.get() + part.rows);
        self.bytes.set(self.bytes.get() + part.text.len() as u64);
        self.checksum
            .set(self.checksum.get().wrapping_add(part.checksum));
    }

    pub fn enter(&self, phase: FillPhase) {
        self.phase.set(phase);
        if phase == FillPhase::Keys {
            self.load_time.set(self.begun.elapsed());
        }
        self.tell();
    }

    pub fn progress(&self) -> LoadProgress {
        LoadProgress {
            phase: self.phase.get(),
            rows: self.rows.get(),
            bytes: self.bytes.get(),
            elapsed: self.begun.elapsed(),
        }
    }

    pub fn load_time(&self) -> Duration {
        self.load_time.get()
    }

    pub fn checksum(&self) -> u64 {
        self.checksum.get()
    }

    fn tell(&self) {
        self.told.set(Instant::now());
        let progress = self.progress();
        // The receiver does not report back, so this is never borrowed already.
        if let Ok(mut tell) = self.tell.try_borrow_mut() {
            tell(progress);
        }
    }
}

/// # Errors
/// `stop` was raised.
pub fn heed(stop: &AtomicBool) -> Result<(), Failure> {
    match stop.load(Ordering::Relaxed) {
        true => Err(Failure::plain("the fill was stopped by a signal")),
        false => Ok(()),
    }
}

/// Less than this is none: the servers write in blocks.
const FULL_BYTES: u64 = 1 << 20;

/// The folder of a server's tables, if the server is on this host.
///
/// A server whose disk is full does not always say so: MyISAM and Aria wait, without a word to the
/// client, until space is freed. So the free space is checked before the load and whenever the load
/// stands still.
#[derive(Clone, Debug)]
pub struct Disk {
    pub folder: PathBuf,
}

impl Disk {
    /// The disk of this folder; none if no such folder is here.
    pub fn of(folder: &Path) -> Option<Self> {
        let disk = Self {
            folder: folder.to_owned(),
        };
        disk.free_bytes().map(|_| disk)
    }

    /// Bytes that any user may still write there.
    pub fn free_bytes(&self) -> Option<u64> {
        let figures = rustix::fs::statvfs(&self.folder).ok()?;
        Some(figures.f_bavail.saturating_mul(figures.f_frsize))
    }

    pub fn is_full(&self) -> bool {
        self.free_bytes().is_some_and(|free| free < FULL_BYTES)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn parts_add_up_and_phases_are_told() {
        let stop = AtomicBool::new(false);
        let mut told = Vec::new();
        let mut tell = |progress: LoadProgress| told.push((progress.phase, progress.rows));
        let watch = LoadWatch::new(&stop, &mut tell);
        let part = RowBatch {
            text: vec![0; 10],
            rows: 2,
            checksum: u64::MAX,
        };
        watch.sent(&part);
        watch.sent(&part);
        assert_eq!(
            (watch.progress().bytes, watch.checksum()),
            (20, u64::MAX - 1)
        );
        watch.enter(FillPhase::Keys);
        watch.enter(FillPhase::Done);
        drop(watch);
        assert_eq!(told, [(FillPhase::Keys, 4), (FillPhase::Done, 4)]);
    }

    #[test]
    fn a_signal_ends_the_patience() {
        let stop = AtomicBool::new(false);
        let mut tell = |_: LoadProgress| {};
        let watch = LoadWatch::new(&stop, &mut tell);
        assert!(watch.ask(Duration::from_secs(1000)).is_ok());
        stop.store(true, Ordering::Relaxed);
        assert!(watch.ask(Duration::ZERO).is_err());
    }

    #[test]
    fn a_folder_has_room_and_a_missing_one_is_no_disk() {
        let disk = Disk::of(&std::env::temp_dir()).unwrap();
        assert_eq!(disk.is_full(), disk.free_bytes().unwrap() < FULL_BYTES);
        assert!(Disk::of(Path::new("/nonexistent/folder")).is_none());
    }
}
