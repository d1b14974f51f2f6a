//! A named pipe for rows: the server opens it as a file, and nothing touches a disk.
//!
//! `LOAD DATA LOCAL` implies IGNORE, and then MyISAM writes each row with a call of its own: twice
//! the time of `LOAD DATA` of a file. Through a pipe the rows of memory get the file's speed. The
//! server must run on this host and may open the folder, and its user needs the FILE privilege. So
//! this is for private servers.

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::io::Errno;
use rustix::pipe::fcntl_setpipe_size;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The pipe's buffer; the kernel lets every user have this size.
const PIPE_BYTES: usize = 1 << 20;

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Lies in the folder as long as it lives.
#[derive(Debug)]
pub struct NamedPipe {
    path: PathBuf,
}

impl NamedPipe {
    /// # Errors
    /// The folder does not take one.
    pub fn make(folder: &Path) -> io::Result<Self> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = folder.canonicalize()?;
        let path = folder.join(format!("contend-rows-{}-{number}", std::process::id()));
        // All users may read: the server may run as one of them; the folder keeps others out.
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o644), 0)?;
        Ok(Self { path })
    }

    /// The path, where a statement can name it.
    pub fn path(&self) -> Option<&str> {
        self.path.to_str()
    }

    /// The writing end, which does not block; none until a reader has opened the other end.
    ///
    /// # Errors
    /// The pipe cannot be opened.
    pub fn open(&self) -> io::Result<Option<File>> {
        let opened = OpenOptions::new()
            .write(true)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(&self.path);
        match opened {
            Ok(file) => {
                // A smaller buffer only costs more calls.
                let _ = fcntl_setpipe_size(&file, PIPE_BYTES);
                Ok(Some(file))
            }
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NXIO) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for NamedPipe {
    fn drop(&mut self) {
        // An error is fine: it may be gone already.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn it_opens_when_somebody_reads_and_goes_when_it_is_dropped() {
        let pipe = NamedPipe::make(&std::env::temp_dir()).unwrap();
        let path = PathBuf::from(pipe.path().unwrap());
        assert!(pipe.open().unwrap().is_none());
        let reader = {
            let path = path.clone();
            std::thread::spawn(move || {
                let mut text = String::new();
                File::open(path).unwrap().read_to_string(&mut text).unwrap();
                text
            })
        };
        let mut writer = loop {
            if let Some(writer) = pipe.open().unwrap() {
                break writer;
            }
            std::thread::yield_now();
        };
        writer.write_all(b"1\t2\n").unwrap();
        drop(writer);
        assert_eq!(reader.join().unwrap(), "1\t2\n");
        drop(pipe);
        assert!(!path.exists());
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        assert!(NamedPipe::make(Path::new("/nonexistent/folder")).is_err());
    }
}
