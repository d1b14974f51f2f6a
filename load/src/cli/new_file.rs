//! A file that the user named: its old content stays until there is new content.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Written next to the file of its name, and put in its place by [`NewFile::keep`]. A path that is
/// not a regular file, such as a pipe, is written to directly.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    /// Its present path, and its final one.
    waits: Option<(PathBuf, PathBuf)>,
}

impl NewFile {
    /// # Errors
    /// The file could not be written, with the reason as text.
    pub fn create(path: &Path) -> Result<Self, String> {
        Self::beside(path).map_err(|error| format!("cannot write {}: {error}", path.display()))
    }

    fn beside(path: &Path) -> io::Result<Self> {
        // The user's own links are followed.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let before = fs::symlink_metadata(&target).ok();
        let is_file = before.as_ref().is_none_or(fs::Metadata::is_file);
        let name = target.file_name().filter(|_| is_file);
        let Some(name) = name else {
            let file = File::create(path)?;
            return Ok(Self { file, waits: None });
        };
        if before.is_some() {
            // A file that may not be written to is refused, like before.
            OpenOptions::new().write(true).open(&target)?;
        }
        let mut unfinished = std::ffi::OsString::from(".");
        unfinished.push(name);
        unfinished.push(format!(".{}", std::process::id()));
        let unfinished = target.with_file_name(unfinished);
        let file = File::create(&unfinished)?;
        if let Some(before) = before {
            file.set_permissions(before.permissions())?;
        }
        let waits = Some((unfinished, target));
        Ok(Self { file, waits })
    }

    /// Moves it to its place. Later writes go there too.
    ///
    /// # Errors
    /// It cannot be put there.
    pub fn keep(&mut self) -> io::Result<()> {
        if let Some((unfinished, target)) = &self.waits {
            fs::rename(unfinished, target)?;
            self.waits = None;
        }
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some((unfinished, _)) = &self.waits {
            let _ = fs::remove_file(unfinished);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A folder of this test, which is removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("contend-{name}-{}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let names = entries.map(|one| one.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<_> = names.collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn an_old_file_stays_until_there_is_a_new_one() {
        let folder = Folder::new("new-file");
        let (path, link) = (folder.0.join("out"), folder.0.join("link"));
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut given_up = NewFile::create(&path).unwrap();
        given_up.write_all(b"half").unwrap();
        drop(given_up);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        let mut kept = NewFile::create(&link).unwrap();
        kept.write_all(b"new").unwrap();
        kept.keep().unwrap();
        kept.write_all(b"er").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"newer");
        assert_eq!(folder.names(), ["link", "out"]);
    }

    #[test]
    fn what_is_no_file_is_written_to_and_what_cannot_be_is_told() {
        let folder = Folder::new("no-file");
        NewFile::create(Path::new("/dev/null"))
            .unwrap()
            .write_all(b"x")
            .unwrap();
        for path in [folder.0.as_path(), &folder.0.join("none/out")] {
            let words = NewFile::create(path).unwrap_err();
            assert!(words.starts_with("cannot write "), "{words}");
        }
        assert!(folder.names().is_empty());
    }
}
