//! A file of results: it takes the place of an old one when it is whole, and not before.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Takes what is written beside the file that it is for. It is gone if it is dropped before
/// [`Self::keep`].
#[derive(Debug)]
pub struct NewFile {
    to: BufWriter<File>,
    /// Where it stands until it is kept, and what it replaces then; none if it is no regular file
    /// that we write to, or nothing can be made beside it.
    place: Option<(PathBuf, PathBuf)>,
}

impl NewFile {
    /// Whether a file can be written there; nothing is changed.
    ///
    /// # Errors
    /// It cannot.
    pub fn check(path: &Path) -> io::Result<()> {
        let facts = fs::metadata(path);
        if facts.as_ref().is_ok_and(|facts| !facts.is_file()) {
            // A pipe's reader may come later.
            return match path.is_dir() {
                true => Err(ErrorKind::IsADirectory.into()),
                false => Ok(()),
            };
        }
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        match facts {
            Ok(_) => Ok(()),
            Err(_) => fs::remove_file(fs::canonicalize(path)?),
        }
    }

    /// # Errors
    /// A file cannot be written there.
    pub fn create(path: &Path) -> io::Result<Self> {
        let target = match fs::canonicalize(path) {
            Ok(target) => Some(target).filter(|target| target.is_file()),
            Err(_) if path.is_symlink() => None,
            Err(_) => Some(path.to_owned()),
        };
        if let Some(target) = target
            && let Some((file, beside)) = beside(&target)
        {
            return Ok(Self {
                to: BufWriter::new(file),
                place: Some((beside, target)),
            });
        }
        Ok(Self {
            to: BufWriter::new(File::create(path)?),
            place: None,
        })
    }

    /// Puts it where it belongs.
    ///
    /// # Errors
    /// It takes no more, or the old one cannot be replaced.
    pub fn keep(mut self) -> io::Result<()> {
        self.to.flush()?;
        let Some((beside, target)) = &self.place else {
            return Ok(());
        };
        if let Ok(old) = fs::metadata(target) {
            fs::set_permissions(beside, old.permissions())?;
        }
        fs::rename(beside, target)?;
        self.place = None;
        Ok(())
    }
}

/// A file in the same folder; none where nothing can be made.
fn beside(target: &Path) -> Option<(File, PathBuf)> {
    let name = target.file_name()?.to_string_lossy();
    let path = target.with_file_name(format!(".{name}.{}", std::process::id()));
    let made = OpenOptions::new().write(true).create_new(true).open(&path);
    made.ok().map(|file| (file, path))
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some((beside, _)) = &self.place {
            // It does no harm if it stays.
            let _ = fs::remove_file(beside);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("contend-new-file-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let names = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap());
            let mut names: Vec<_> = names
                .map(|entry| entry.file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn write(path: &Path, keeps: bool) {
        NewFile::check(path).unwrap();
        let mut file = NewFile::create(path).unwrap();
        file.write_all(b"new").unwrap();
        if keeps {
            file.keep().unwrap();
        }
    }

    #[test]
    fn an_old_file_stays_until_there_is_a_new_one() {
        let folder = Folder::new("old");
        let path = folder.0.join("figures");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write(&path, false);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        write(&path, true);
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert_eq!(folder.names(), ["figures"]);
    }

    #[test]
    fn where_there_was_no_file_there_is_none_before() {
        let folder = Folder::new("none");
        let path = folder.0.join("figures");
        write(&path, false);
        assert!(folder.names().is_empty());
        write(&path, true);
        assert_eq!(folder.names(), ["figures"]);
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = Folder::new("link");
        let (path, link) = (folder.0.join("figures"), folder.0.join("link"));
        symlink("figures", &link).unwrap();
        for old in [false, true] {
            write(&link, true);
            assert!(link.is_symlink() && path.is_file(), "{old}");
            assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        }
    }

    #[test]
    fn what_is_no_file_is_written_to_or_refused() {
        write(Path::new("/dev/null"), true);
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let folder = Folder::new("refused");
        assert!(NewFile::check(&folder.0).is_err());
        assert!(NewFile::check(&folder.0.join("no/such")).is_err());
    }
}
