//! The statements of all phases: read from files or the command line, or made up.

use super::arguments::SlapOptions;
use super::auto::Auto;
use super::split::split;
use contend_client::failure;
use contend_console::without_mark;
use contend_workloads::client_list::Text;
use std::path::Path;

/// The statements to run, by phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    pub create: Vec<String>,
    pub pre: Vec<String>,
    pub list: Vec<Text>,
    pub post: Vec<String>,
}

/// Reads all of them.
///
/// # Errors
/// The wrong option, and what about it is wrong.
pub fn read(options: &SlapOptions, auto: Option<&Auto>) -> Result<Texts, String> {
    let delimiter = options.text("delimiter").unwrap_or("\n");
    if delimiter.is_empty() {
        return Err("--delimiter= is empty; set the separator of statements".to_owned());
    }
    let of = |name: &str| -> Result<Vec<String>, String> {
        let Some(given) = options.text(name) else {
            return Ok(Vec::new());
        };
        let (text, place) = text_of(name, given)?;
        split(&text, delimiter).map_err(|why| format!("{place}, {why}"))
    };
    let (create, list) = match auto {
        Some(auto) => {
            let made = auto.make();
            (made.create, made.statements)
        }
        None => {
            let list = of("query")?;
            if options.has("query") && list.is_empty() {
                return Err("--query: it contains no statement".to_owned());
            }
            let list = list.into_iter().map(Text::Plain).collect();
            (of("create")?, list)
        }
    };
    Ok(Texts {
        create,
        pre: of("pre-query")?,
        list,
        post: of("post-query")?,
    })
}

/// The content of the file, if there is one of this name; else the words themselves. Also what to
/// call it in a message.
fn text_of(name: &str, given: &str) -> Result<(String, String), String> {
    let path = Path::new(given);
    let Ok(facts) = std::fs::metadata(path) else {
        let is_path = !given.contains(char::is_whitespace)
            && (given.contains('/') || given.ends_with(".sql"));
        return match is_path {
            true => Err(format!("--{name}={given}: the file does not exist")),
            false => Ok((given.to_owned(), format!("--{name}"))),
        };
    };
    let place = format!("--{name}={given}");
    if !facts.is_file() {
        return Err(format!("{place}: not a regular file"));
    }
    let bytes =
        std::fs::read(path).map_err(|error| format!("{place}: {}", failure::words(&error)))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let before = error.as_bytes().get(..good).unwrap_or_default();
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        format!("{place}: line {line} is not UTF-8; convert the file (iconv -t UTF-8)")
    })?;
    Ok((without_mark(&text).to_owned(), place))
}
