//! The statements of all phases: read from files or the command line, or made up.

use super::arguments::SlapOptions;
use super::auto::Auto;
use super::split::{Split, as_mysqlslap, split};
use crate::cli::byte_order_mark::without_mark;
use contend_client::failure;
use contend_workloads::client_list::Text;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::path::Path;

/// The statements to run, by phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    pub create: Vec<String>,
    pub pre: Vec<String>,
    pub list: Vec<Text>,
    /// Number of statements of the list that a client without a limit runs; 0: all of them, once.
    pub count: u64,
    pub post: Vec<String>,
}

/// Reads all of them.
///
/// # Errors
/// The wrong option, and what about it is wrong.
pub fn read(options: &SlapOptions, auto: Option<&Auto>, strict: bool) -> Result<Texts, String> {
    let delimiter = options.text("delimiter").unwrap_or("\n");
    if delimiter.is_empty() {
        return Err("--delimiter= is empty; set the separator of statements".to_owned());
    }
    let of = |name: &str| -> Result<Split, String> {
        let Some(given) = options.text(name) else {
            return Ok(Split::default());
        };
        let (text, where_) = text_of(name, given, strict)?;
        match strict {
            true => Ok(as_mysqlslap(&text, delimiter)),
            false => split(&text, delimiter).map_err(|why| format!("{where_}, {why}")),
        }
    };
    let (pre, post) = (of("pre-query")?.statements, of("post-query")?.statements);
    let mut texts = match auto {
        Some(auto) => {
            let made = auto.make();
            Texts {
                create: made.create,
                // mysqlslap runs them all too, and reports 0.
                count: if strict {
                    0
                } else {
                    made.statements.len() as u64
                },
                list: made.statements,
                ..Texts::default()
            }
        }
        None => {
            let list = of("query")?;
            if list.statements.is_empty() && list.count > 0 {
                return Err("--query: its first statement is empty, and ends the list".to_owned());
            }
            if !strict && options.has("query") && list.statements.is_empty() {
                return Err("--query: it contains no statement".to_owned());
            }
            Texts {
                create: of("create")?.statements,
                list: list.statements.into_iter().map(Text::Plain).collect(),
                count: list.count,
                ..Texts::default()
            }
        }
    };
    (texts.pre, texts.post) = (pre, post);
    Ok(texts)
}

/// The content of the file, if there is one of this name; else the words themselves.
fn text_of(name: &str, given: &str, strict: bool) -> Result<(String, String), String> {
    let path = Path::new(given);
    let Ok(facts) = std::fs::metadata(path) else {
        let is_path = !given.contains(char::is_whitespace)
            && (given.contains('/') || given.ends_with(".sql"));
        if is_path && !strict {
            return Err(format!("--{name}={given}: the file does not exist"));
        }
        return Ok((given.to_owned(), format!("--{name}")));
    };
    let theirs = match name {
        "create" => ("Create", "create"),
        _ => ("User query supplied", "query supplied"),
    };
    if !facts.is_file() {
        return Err(match strict {
            true => format!("{} file was not a regular file", theirs.0),
            false => format!("--{name}={given}: not a regular file"),
        });
    }
    let mut bytes = Vec::new();
    // mysqlslap also needs to write to it.
    let file = OpenOptions::new().read(true).write(strict).open(path);
    let got = file.and_then(|mut file| file.read_to_end(&mut bytes));
    got.map_err(|error| match strict {
        true => format!("Could not open {} file", theirs.1),
        false => format!("--{name}={given}: {}", failure::words(&error)),
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let before = error.as_bytes().get(..good).unwrap_or_default();
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        format!("--{name}={given}: line {line} is not UTF-8; convert the file (iconv -t UTF-8)")
    })?;
    let text = match strict {
        true => text,
        false => without_mark(&text).to_owned(),
    };
    Ok((text, format!("--{name}={given}")))
}
