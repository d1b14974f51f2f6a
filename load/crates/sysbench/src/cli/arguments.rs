//! Takes a command line apart: options, the test, the command.

use super::table::Whose;
use crate::cli::table;
use crate::lua::options::{BadValue, OptionType, OptionValue, ScriptOptions, normal_name, parse};
use crate::lua::run::Compat;
use contend_client::failure;
use contend_console::secrets;
use contend_console::without_mark;

/// A command line, before anybody asked what its options mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// As written, in order; the name normalised, the value where there is one.
    pub given: Vec<Given>,
    pub test: Option<String>,
    pub command: Option<String>,
}

/// One option that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    pub name: String,
    pub value: Option<String>,
    /// The whole word on the command line.
    pub text: String,
}

impl Given {
    fn new(text: &str) -> Self {
        let body = text.trim_start_matches('-');
        let (name, value) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (body, None),
        };
        Self {
            name: normal_name(name),
            value,
            text: text.to_owned(),
        }
    }
}

const PASSWORD: &str = "mysql_password";

/// Words for standard error; the command line is wrong.
pub type Wrong = String;

impl CommandLine {
    /// # Errors
    /// The third word that is not an option.
    pub fn parse(arguments: &[String]) -> Result<Self, Wrong> {
        let mut line = Self::default();
        for argument in arguments {
            if argument.starts_with("--") {
                if argument.len() > 2 {
                    line.given.push(Given::new(argument));
                }
            } else if line.test.is_none() {
                line.test = Some(argument.clone());
            } else if line.command.is_none() {
                line.command = Some(argument.clone());
            } else {
                let shown = secrets::hidden(argument);
                return Err(format!("Unrecognized command line argument: {shown}"));
            }
        }
        Ok(line)
    }

    /// The value of the last option of this name: none if it was not given.
    pub fn last(&self, name: &str) -> Option<&Given> {
        self.given.iter().rev().find(|given| given.name == name)
    }

    /// True where a switch is on; an invalid value counts as on, and is refused later.
    pub fn is_on(&self, name: &str) -> bool {
        self.last(name).is_some_and(|given| {
            parse(OptionType::Bool, given.value.as_deref()) != Ok(OptionValue::Bool(false))
        })
    }

    /// The version whose options are used.
    ///
    /// # Errors
    /// A version that is neither.
    pub fn compat(&self) -> Result<Compat, Wrong> {
        let given = self.last("compat");
        match given.map(|given| given.value.as_deref().unwrap_or("")) {
            None | Some("1.0") => Ok(Compat::V1_0),
            Some("1.1") => Ok(Compat::V1_1),
            Some(other) => Err(format!(
                "Invalid value for the 'compat' option: '{other}' (there are 1.0 and 1.1)"
            )),
        }
    }

    /// Inserts the options of a file before those given: the command line wins.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn add_config_file(&mut self) -> Result<(), Wrong> {
        let Some(path) = self
            .last("config_file")
            .and_then(|given| given.value.clone())
        else {
            return Ok(());
        };
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("{path}: {}", failure::words(&error)))?;
        let lines = without_mark(&text).lines();
        let mut given: Vec<Given> = lines.filter_map(config_line).collect();
        given.append(&mut self.given);
        self.given = given;
        Ok(())
    }
}

/// `name=value`, spaces and quotes around the value allowed; `#` begins a comment.
fn config_line(line: &str) -> Option<Given> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') || line.starts_with('[') {
        return None;
    }
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name.trim(), Some(unquoted(value.trim()))),
        None => (line, None),
    };
    let name = name.trim_start_matches('-');
    Some(Given {
        name: normal_name(name),
        value: value.map(str::to_owned),
        text: format!("--{line}"),
    })
}

fn unquoted(value: &str) -> &str {
    let inner = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

/// An option's value that it cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Printed before everything else.
    Number(Wrong),
    /// Printed after the header, as an option that is not known.
    Option(Wrong),
}

/// Values of all options that do not belong to scripts, and the options still unknown.
///
/// # Errors
/// The first number that is not valid. A wrong switch is refused later, with unknown options.
pub fn read_known(
    line: &CommandLine,
    compat: Compat,
) -> Result<(ScriptOptions, Vec<Given>), Refused> {
    let mut options = ScriptOptions::default();
    for option in table::all(compat) {
        if option.whose != Whose::Ours
            && let Some(default) = option.default
            && let Ok(value) = parse(option.kind, Some(default))
        {
            options.set(option.name, value);
        }
    }
    let mut unknown = Vec::new();
    for given in &line.given {
        let Some(known) = table::named(compat, &given.name) else {
            unknown.push(given.clone());
            continue;
        };
        match parse(known.kind, given.value.as_deref()) {
            Ok(value) => options.set(known.name, value),
            Err(BadValue::Number) => return Err(Refused::Number(bad_number(given))),
            Err(BadValue::Bool) => return Err(Refused::Option(invalid_option(given, compat))),
        }
    }
    Ok((options, unknown))
}

pub fn bad_number(given: &Given) -> Wrong {
    let value = given.value.as_deref().unwrap_or("");
    format!("Invalid value for the '{}' option: '{value}'", given.name)
}

pub fn invalid_option(given: &Given, compat: Compat) -> Wrong {
    let shown = secrets::cut(&given.text, secret_in(&given.text));
    let other = compat.other();
    let takes = |known: &table::Known| parse(known.kind, given.value.as_deref()).is_ok();
    match table::named(other, &given.name).is_some_and(takes) {
        true => format!("invalid option: {shown} (--compat={} has it)", other.name()),
        false => format!("invalid option: {shown}"),
    }
}

/// The byte of a word at which a password begins; the word's length if the password is not in it.
/// An option that is not a password in any version has none; for others the name decides.
pub fn secret_in(word: &str) -> Option<usize> {
    let body = word.trim_start_matches('-');
    let dashes = word.len() - body.len();
    if dashes == 0 {
        return None;
    }
    let name = secrets::name_of(body);
    let normal = normal_name(name);
    if normal != PASSWORD && table::named_in_either(Compat::V1_0, &normal).is_some() {
        return None;
    }
    // `-p` is an option of other clients; with two more dashes it stood in a file.
    let is_letter = dashes != 2 && body.starts_with('p');
    match is_letter {
        true => Some(dashes + 1),
        false if secrets::is_secret(name) => Some(word.len().min(dashes + name.len() + 1)),
        false => None,
    }
}

/// Words without the passwords that follow their option as a separate word.
pub fn hidden(words: &str, arguments: &[String]) -> String {
    let places = secrets::places(arguments, secret_in).into_iter();
    let alone = places.filter(|(_, begins)| *begins == 0);
    let alone = alone.filter_map(|(place, _)| arguments.get(place));
    alone.fold(words.to_owned(), |words, secret| {
        words.replace(secret, &secrets::cut(secret, Some(0)))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn parsed(words: &[&str]) -> CommandLine {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        CommandLine::parse(&words).unwrap()
    }

    #[test]
    fn options_may_stand_anywhere() {
        let line = parsed(&["--threads=2", "oltp", "--debug", "run", "--my-sql_x=a=b"]);
        assert_eq!(
            (line.test.as_deref(), line.command.as_deref()),
            (Some("oltp"), Some("run"))
        );
        assert_eq!(line.last("threads").unwrap().value.as_deref(), Some("2"));
        assert_eq!(line.last("debug").unwrap().value, None);
        assert_eq!(line.last("my_sql_x").unwrap().value.as_deref(), Some("a=b"));
    }

    #[test]
    fn a_third_word_is_refused() {
        let words = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(
            CommandLine::parse(&words),
            Err("Unrecognized command line argument: c".to_owned())
        );
        assert_eq!(parsed(&["-", "run"]).test.as_deref(), Some("-"));
        assert_eq!(parsed(&["--"]).test, None);
    }

    #[test]
    fn the_last_value_counts_and_numbers_are_checked() {
        let (options, unknown) = read_known(
            &parsed(&["--threads=2", "--threads=8", "--foo=1"]),
            Compat::V1_0,
        )
        .unwrap();
        assert_eq!(options.int("threads"), 8);
        assert_eq!(unknown[0].name, "foo");
        let wrong = read_known(&parsed(&["--threads=2x"]), Compat::V1_0).unwrap_err();
        let words = "Invalid value for the 'threads' option: '2x'".to_owned();
        assert_eq!(wrong, Refused::Number(words));
        let wrong = read_known(&parsed(&["--debug=maybe"]), Compat::V1_0).unwrap_err();
        assert_eq!(
            wrong,
            Refused::Option("invalid option: --debug=maybe".to_owned())
        );
        let wrong = read_known(&parsed(&["--mysql-ssl=required"]), Compat::V1_0).unwrap_err();
        let words = "invalid option: --mysql-ssl=required (--compat=1.1 has it)";
        assert_eq!(wrong, Refused::Option(words.to_owned()));
    }

    #[test]
    fn a_password_is_found_by_the_name_of_its_option() {
        for (word, begins) in [
            ("--mysql-password=X", Some(17)),
            ("--mysql_password=X", Some(17)),
            ("--mysql-password", Some(16)),
            ("--MYSQL-PASSWORD=X", Some(17)),
            ("--mysql-pasword=X", Some(16)),
            ("--password X", Some(11)),
            ("-pX", Some(2)),
            ("---pX", Some(4)),
            ("-p", Some(2)),
            ("--points=10", None),
            ("--mysql-port=3306", None),
            ("--tables=10", None),
            ("oltp_read_only", None),
        ] {
            assert_eq!(secret_in(word), begins, "{word}");
        }
        let line = ["--mysql-password", "X", "run"].map(str::to_owned);
        assert_eq!(hidden("Cannot find 'X'", &line), "Cannot find '***'");
    }

    #[test]
    fn versions_know_different_options() {
        let line = parsed(&["--warmup-time=3"]);
        assert_eq!(read_known(&line, Compat::V1_0).unwrap().1.len(), 1);
        let (options, unknown) = read_known(&line, Compat::V1_1).unwrap();
        assert!(unknown.is_empty());
        assert_eq!(options.int("warmup_time"), 3);
        assert_eq!(options.text("rand_type"), "uniform");
    }

    #[test]
    fn a_line_of_a_config_file_is_an_option() {
        let given = config_line("  mysql-user = \"abc\"").unwrap();
        assert_eq!(
            (given.name.as_str(), given.value.as_deref()),
            ("mysql_user", Some("abc"))
        );
        assert_eq!(config_line("--events=4").unwrap().name, "events");
        assert_eq!(config_line("debug").unwrap().value, None);
        assert_eq!(config_line("# threads=3"), None);
        let path = std::env::temp_dir().join(format!("contend-config-{}", std::process::id()));
        std::fs::write(&path, "\u{feff}threads=3\n").unwrap();
        let mut line = parsed(&[&format!("--config-file={}", path.display())]);
        line.add_config_file().unwrap();
        assert_eq!(line.last("threads").unwrap().value.as_deref(), Some("3"));
        std::fs::remove_file(path).unwrap();
    }

    proptest! {
        #[test]
        fn no_command_line_panics(words in proptest::collection::vec(".*", 0..5)) {
            if let Ok(line) = CommandLine::parse(&words) {
                let _ = read_known(&line, Compat::V1_0);
                let _ = line.compat();
            }
        }
    }
}
