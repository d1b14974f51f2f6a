//! Rows and index pages in real files of a folder, written from the seed once and kept under a name
//! that describes their content.

use crate::{Index, ModelRow, ModelRows, PAGE_BYTES, ROW_BYTES};
use contend_figures::outcome::Failure;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// Changes whenever the bytes of a file of the same seed would be others.
const CONTENT_VERSION: u32 = 1;

/// Where rows come from.
pub enum RowSource {
    /// They are made whenever one is read.
    Memory(ModelRows),
    File(File),
}

impl RowSource {
    /// # Errors
    /// The file cannot be read.
    #[inline]
    pub fn row(&self, number: u32) -> io::Result<ModelRow> {
        match self {
            Self::Memory(rows) => Ok(rows.row(number)),
            Self::File(file) => {
                let mut bytes = [0; ROW_BYTES];
                file.read_exact_at(&mut bytes, ModelRow::offset(number))?;
                Ok(ModelRow::read(&bytes))
            }
        }
    }
}

/// The data file of a table in a folder; it is written if it is not there.
///
/// # Errors
/// It cannot be written or opened.
pub fn data_file(folder: &Path, rows: u32, seed: u64) -> Result<File, Failure> {
    let name = format!("sbtest-{rows}-rows-seed-{seed}-v{CONTENT_VERSION}.data");
    let content = ModelRows::new(seed, rows);
    kept(folder, &name, u64::from(rows) * ROW_BYTES as u64, |out| {
        let mut bytes = [0; ROW_BYTES];
        for number in 1..=rows {
            content.row(number).write(&mut bytes);
            out.write_all(&bytes)?;
        }
        Ok(())
    })
}

/// The index file of a table in a folder, likewise. It does not depend on the seed.
///
/// # Errors
/// Like [`data_file`].
pub fn index_file(folder: &Path, index: &Index) -> Result<File, Failure> {
    let name = format!("sbtest-{}-rows-v{CONTENT_VERSION}.index", index.rows());
    let bytes = u64::from(index.pages()) * PAGE_BYTES as u64;
    kept(folder, &name, bytes, |out| {
        let mut page = [0; PAGE_BYTES];
        for number in 0..index.pages() {
            index.write(number, &mut page);
            out.write_all(&page)?;
        }
        Ok(())
    })
}

/// Where a page begins in the index file.
pub fn page_offset(page: u32) -> u64 {
    u64::from(page) * PAGE_BYTES as u64
}

/// Opens a file of `bytes` bytes; writes it first if there is none. It gets its name when it is
/// whole.
fn kept(
    folder: &Path,
    name: &str,
    bytes: u64,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<File, Failure> {
    let path = folder.join(name);
    let made = || -> io::Result<File> {
        if std::fs::metadata(&path).is_ok_and(|found| found.len() == bytes) {
            return File::open(&path);
        }
        let unfinished = unfinished(&path);
        let written = File::create(&unfinished).and_then(|file| {
            let mut out = BufWriter::with_capacity(1 << 20, file);
            write(&mut out)?;
            out.flush()?;
            std::fs::rename(&unfinished, &path)
        });
        if written.is_err() {
            // There may be none.
            let _ = std::fs::remove_file(&unfinished);
        }
        written?;
        File::open(&path)
    };
    made().map_err(|error| Failure {
        hint: Some(format!(
            "--rows-in: use a folder with {} MB of free space, or memory",
            bytes.div_ceil(1_000_000)
        )),
        ..Failure::plain(format!("{}: {error}", path.display()))
    })
}

fn unfinished(path: &Path) -> PathBuf {
    path.with_extension(format!("unfinished-{}", std::process::id()))
}
