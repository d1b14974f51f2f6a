//! The disk below the server, where the server is on this host.
//!
//! A server whose disk is full does not always say so: MyISAM and Aria wait, without a word to the
//! client, until space is freed. So the free space is checked before the load and whenever the load
//! stands still.

use std::path::{Path, PathBuf};

/// Less than this is none: the servers write in blocks.
const FULL_BYTES: u64 = 1 << 20;

/// The folder of a server's tables, as this host sees it.
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
    fn a_folder_has_room_and_a_missing_one_is_no_disk() {
        let disk = Disk::of(&std::env::temp_dir()).unwrap();
        assert_eq!(disk.is_full(), disk.free_bytes().unwrap() < FULL_BYTES);
        assert!(Disk::of(Path::new("/nonexistent/folder")).is_none());
    }
}
