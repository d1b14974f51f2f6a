//! Reads an option file: groups of `name = value` lines.
//!
//! `#` and `;` begin comment lines; `#` behind a blank begins a comment at a line's end. A value
//! may stand in quotes and have `\n \t \r \b \s \\ \" \'` in it.

/// A line of a file that is neither blank nor a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionLine {
    /// An option of a group, as a word of a command line: `--name` or `--name=value`.
    Option { group: String, word: String },
    /// `!include FILE`.
    Include(String),
    /// `!includedir FOLDER`.
    IncludeFolder(String),
}

/// The error, with its line, which counts from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrongOptionFile {
    NoGroup(usize),
    BadGroup(usize),
}

/// Reads the text of a file.
///
/// # Errors
/// An option before the first group, or a group without its bracket.
pub fn read(text: &str) -> Result<Vec<OptionLine>, WrongOptionFile> {
    let mut entries = Vec::new();
    let mut group: Option<&str> = None;
    for (index, line) in text.lines().enumerate() {
        let (number, line) = (index + 1, line.trim());
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(order) = line.strip_prefix('!') {
            let (name, path) = order.split_once(char::is_whitespace).unwrap_or((order, ""));
            let path = path.trim().to_owned();
            match name {
                "include" if !path.is_empty() => entries.push(OptionLine::Include(path)),
                "includedir" if !path.is_empty() => entries.push(OptionLine::IncludeFolder(path)),
                _ => {}
            }
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let (name, _) = name
                .split_once(']')
                .ok_or(WrongOptionFile::BadGroup(number))?;
            group = Some(name.trim());
            continue;
        }
        let group = group.ok_or(WrongOptionFile::NoGroup(number))?;
        let line = without_comment(line);
        let word = match line.split_once('=') {
            Some((name, value)) => format!("--{}={}", name.trim_end(), value_of(value.trim())),
            None => format!("--{line}"),
        };
        entries.push(OptionLine::Option {
            group: group.to_owned(),
            word,
        });
    }
    Ok(entries)
}

/// The line up to a `#` that follows a blank outside of quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (place, c) in line.char_indices() {
        match (c, quote) {
            ('\'' | '"', None) if before != '\\' => quote = Some(c),
            (c, Some(open)) if c == open && before != '\\' => quote = None,
            ('#', None) => return line.get(..place).unwrap_or_default().trim_end(),
            _ => {}
        }
        before = c;
    }
    line
}

fn value_of(text: &str) -> String {
    let inner = ['"', '\'']
        .iter()
        .find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    let mut value = String::new();
    let mut chars = inner.unwrap_or(text).chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            value.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => value.push('\n'),
            Some('t') => value.push('\t'),
            Some('r') => value.push('\r'),
            Some('b') => value.push('\u{8}'),
            Some('s') => value.push(' '),
            Some(c @ ('\\' | '"' | '\'')) => value.push(c),
            Some(c) => value.extend(['\\', c]),
            None => value.push('\\'),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        let entries = read(text).unwrap_or_default();
        let word = |entry| match entry {
            OptionLine::Option { word, .. } => word,
            other => format!("{other:?}"),
        };
        entries.into_iter().map(word).collect()
    }

    #[test]
    fn lines_become_words() {
        let text = "# words\n[client]\nuser=bob\npassword = \"se cret\"\n\n[mysqlslap]\n\
                    query='select 1\\nselect\\s2' # tail\nsilent\n; other\niterations = 3  # tail\n\
                    no_drop\n";
        assert_eq!(
            words(text),
            [
                "--user=bob",
                "--password=se cret",
                "--query=select 1\nselect 2",
                "--silent",
                "--iterations=3",
                "--no_drop"
            ]
        );
        assert_eq!(
            read("[a]\n!include b.cnf\n!includedir /c\n"),
            Ok(vec![
                OptionLine::Include("b.cnf".to_owned()),
                OptionLine::IncludeFolder("/c".to_owned())
            ])
        );
    }

    #[test]
    fn what_belongs_to_no_group_is_refused_with_its_line() {
        assert_eq!(read("\nx=1\n"), Err(WrongOptionFile::NoGroup(2)));
        assert_eq!(read("[a]\n[client\n"), Err(WrongOptionFile::BadGroup(2)));
    }

    proptest! {
        #[test]
        fn every_text_is_read_or_refused(text in "([\\[\\]a='\"\\\\# \n!]|include){0,30}") {
            if let Ok(entries) = read(&text) {
                prop_assert!(entries.len() <= text.lines().count());
            }
        }
    }
}
