//! Which option files and groups are read, and the words in them.

use super::option_file::{OptionLine, WrongOptionFile};
use crate::option_file;
use contend_client::failure;
use contend_console::without_mark;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

const GROUPS: [&str; 5] = [
    "mysqlslap",
    "mariadb-slap",
    "client",
    "client-server",
    "client-mariadb",
];
const FOLDERS: [&str; 2] = ["/etc", "/etc/mysql"];
const INCLUDES_MAX: usize = 10;

/// The words of a line with those of the option files in front.
#[derive(Debug, Default)]
pub struct Words {
    pub words: Vec<String>,
    pub from_files: usize,
    pub prints: bool,
    pub warnings: Vec<String>,
}

/// Options that may only come before all others.
#[derive(Debug, Default)]
struct First {
    none: bool,
    prints: bool,
    file: Option<String>,
    extra_file: Option<String>,
    suffix: Option<String>,
}

/// Reads the option files that a command line asks for.
///
/// # Errors
/// Words about the file that is wrong.
pub fn read(line: &[String]) -> Result<Words, String> {
    let mut first = First {
        suffix: ["MARIADB_GROUP_SUFFIX", "MYSQL_GROUP_SUFFIX"]
            .iter()
            .find_map(|name| std::env::var(name).ok()),
        ..First::default()
    };
    let taken = line
        .iter()
        .take_while(|word| take(&mut first, word))
        .count();
    let mut words = Words {
        prints: first.prints,
        ..Words::default()
    };
    if !first.none {
        let mut found = FoundFile {
            groups: groups(first.suffix.as_deref()),
            words: &mut words,
        };
        match &first.file {
            Some(file) => found.file(&absolute(file), true, 0)?,
            None => found.global(first.extra_file.as_deref())?,
        }
    }
    words.from_files = words.words.len();
    words.words.extend(line.iter().skip(taken).cloned());
    Ok(words)
}

/// True if this word is one of those that may only come before all others.
fn take(first: &mut First, word: &str) -> bool {
    let is_new = |place: &Option<String>| place.is_none();
    let Some(word) = word.strip_prefix("--") else {
        return false;
    };
    match word.split_once('=') {
        Some(("defaults-file", path)) if is_new(&first.file) && !first.prints => {
            first.file = Some(path.to_owned());
        }
        Some(("defaults-extra-file", path)) if is_new(&first.extra_file) && !first.prints => {
            first.extra_file = Some(path.to_owned());
        }
        Some(("defaults-group-suffix", suffix)) if !first.prints => {
            first.suffix = Some(suffix.to_owned());
        }
        None if word == "no-defaults" && !first.none && !first.prints => first.none = true,
        None if word == "print-defaults" && !first.prints => first.prints = true,
        _ => return false,
    }
    true
}

fn groups(suffix: Option<&str>) -> Vec<String> {
    let with = |suffix: &str| GROUPS.map(|group| format!("{group}{suffix}"));
    let suffix = suffix.filter(|suffix| !suffix.is_empty());
    [""].into_iter().chain(suffix).flat_map(with).collect()
}

fn absolute(path: &str) -> PathBuf {
    let path = match path.strip_prefix("~/").zip(std::env::home_dir()) {
        Some((rest, home)) => home.join(rest),
        None => PathBuf::from(path),
    };
    std::path::absolute(&path).unwrap_or(path)
}

struct FoundFile<'w> {
    groups: Vec<String>,
    words: &'w mut Words,
}

impl FoundFile<'_> {
    /// The files of the system, one more, and the user's own.
    fn global(&mut self, extra: Option<&str>) -> Result<(), String> {
        let homes = ["MARIADB_HOME", "MYSQL_HOME"].map(std::env::var_os);
        let home = homes.into_iter().flatten().next().map(PathBuf::from);
        let folders = FOLDERS.map(PathBuf::from).into_iter().chain(home);
        for folder in folders {
            self.file(&folder.join("my.cnf"), false, 0)?;
        }
        if let Some(extra) = extra {
            self.file(&absolute(extra), true, 0)?;
        }
        match std::env::home_dir() {
            Some(home) => self.file(&home.join(".my.cnf"), false, 0),
            None => Ok(()),
        }
    }

    fn file(&mut self, path: &Path, is_required: bool, depth: usize) -> Result<(), String> {
        let shown = path.display();
        if depth > INCLUDES_MAX {
            return Err(format!(
                "{shown}: option files include one another in a circle"
            ));
        }
        let facts = std::fs::metadata(path);
        if let Ok(facts) = &facts
            && facts.is_file()
            && facts.permissions().mode() & 0o002 != 0
        {
            let warning = format!("Warning: World-writable config file '{shown}' is ignored");
            self.words.warnings.push(warning);
            return Ok(());
        }
        let text = match std::fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if is_required => {
                let why = failure::words(&error);
                return Err(format!(
                    "Could not open required defaults file: {shown} ({why})"
                ));
            }
            Err(_) => return Ok(()),
        };
        let entries = option_file::read(without_mark(&text)).map_err(|wrong| match wrong {
            WrongOptionFile::NoGroup(line) => format!(
                "error: Found option without preceding group in config file: {shown} \
                 at line: {line}"
            ),
            WrongOptionFile::BadGroup(line) => {
                format!("error: Wrong group definition in config file: {shown} at line {line}")
            }
        })?;
        for entry in entries {
            match entry {
                OptionLine::Option { group, word } if self.groups.contains(&group) => {
                    self.words.words.push(word);
                }
                OptionLine::Option { .. } => {}
                OptionLine::Include(other) => self.file(&absolute(&other), true, depth + 1)?,
                OptionLine::IncludeFolder(folder) => self.folder(&absolute(&folder), depth)?,
            }
        }
        Ok(())
    }

    fn folder(&mut self, folder: &Path, depth: usize) -> Result<(), String> {
        let files = std::fs::read_dir(folder).map_err(|error| {
            let (folder, why) = (folder.display(), failure::words(&error));
            format!("Can't read dir of '{folder}' ({why})")
        })?;
        let files = files.filter_map(|file| file.ok().map(|file| file.path()));
        let is_config = |path: &PathBuf| path.extension().is_some_and(|ext| ext == "cnf");
        let mut files: Vec<PathBuf> = files.filter(is_config).collect();
        files.sort();
        let mut files = files.iter();
        files.try_for_each(|file| self.file(file, true, depth + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_words_name_files() {
        let line = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let read = |words: &str| read(&line(words)).map(|read| (read.words, read.prints));
        assert_eq!(read("--no-defaults -a"), Ok((line("-a"), false)));
        assert_eq!(
            read("--no-defaults --print-defaults -a"),
            Ok((line("-a"), true))
        );
        assert_eq!(
            read("--no-defaults -a --print-defaults"),
            Ok((line("-a --print-defaults"), false))
        );
        assert!(read("--defaults-file=/nowhere/my.cnf").is_err());
    }

    #[test]
    fn a_suffix_adds_groups() {
        let groups = groups(Some("_x"));
        assert!(groups.contains(&"client".to_owned()) && groups.contains(&"client_x".to_owned()));
        assert_eq!(super::groups(None).len(), GROUPS.len());
    }
}
