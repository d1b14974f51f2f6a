//! From words to options, by the rules of the clients of MariaDB and MySQL.
//!
//! `--name=value`, `--name value`, `-nvalue`; `_` is as good as `-`. A name may be shortened as
//! long as one option is meant. `--skip-`, `--disable-`, `--enable-`, `--loose-` and `--maximum-`
//! may stand in front.

use super::options::{OPTIONS, SlapOption, SlapWhose, Takes};
use contend_console::secrets;
use contend_console::suggestions::{nearest_of, with_minus_signs, without_dashes};

/// One given option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlapGiven {
    pub option: &'static SlapOption,
    pub value: Option<String>,
    /// It stood on the command line, not in an option file.
    pub on_line: bool,
}

/// The options of a line, in order, and words for standard error. The last word about an option
/// counts.
#[derive(Debug, Default)]
pub struct SlapOptions {
    given: Vec<SlapGiven>,
    pub warnings: Vec<String>,
    /// The places of the words that belong to no option.
    pub strays: Vec<usize>,
}

impl SlapOptions {
    fn all<'a>(&'a self, name: &str) -> impl DoubleEndedIterator<Item = &'a SlapGiven> {
        self.given
            .iter()
            .filter(move |given| given.option.name == name)
    }

    /// Whether it was given, with a value or without.
    pub fn has(&self, name: &str) -> bool {
        self.times(name) > 0
    }

    /// Number of times that it was given.
    pub fn times(&self, name: &str) -> u32 {
        self.all(name).count() as u32
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.all(name).next_back()?.value.as_deref()
    }

    /// On or off, if it was given.
    pub fn switch(&self, name: &str) -> Option<bool> {
        self.text(name).map(|value| value == "1")
    }

    pub fn is_on(&self, name: &str) -> bool {
        self.switch(name) == Some(true)
    }

    /// The value of an option that was already read as a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        number(self.text(name)?)
    }

    /// The last one of these options that the command line itself gives.
    pub fn last_on_line(&self, names: &[&'static str]) -> Option<&'static str> {
        let on_line = self.given.iter().rev().filter(|given| given.on_line);
        let mut found = on_line.map(|given| given.option.name);
        found.find(|name| names.contains(name))
    }
}

const PASSWORD: &str = "password";

/// Reads words up to the first that is wrong; the first `from_files` of them stood in option files.
///
/// # Errors
/// The problem with that word.
pub fn parse(words: &[String], from_files: usize) -> Result<SlapOptions, String> {
    let mut reader = Reader {
        words: words.iter().enumerate(),
        line: SlapOptions::default(),
        from_files,
    };
    while let Some((place, word)) = reader.words.next() {
        if word == "--" {
            // No options follow it.
            reader.line.strays.extend(place + 1..words.len());
            break;
        }
        match (word.strip_prefix("--"), word.strip_prefix('-')) {
            (Some(long), _) => reader.long(place, long)?,
            (None, Some(letters)) if !letters.is_empty() => reader.letters(place, letters)?,
            _ => reader.line.strays.push(place),
        }
    }
    Ok(reader.line)
}

struct Reader<'w> {
    words: std::iter::Enumerate<std::slice::Iter<'w, String>>,
    line: SlapOptions,
    from_files: usize,
}

/// A prefix of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prefix {
    None,
    Skip,
    Enable,
    Loose,
}

const PREFIXES: [(&str, Prefix); 5] = [
    ("skip-", Prefix::Skip),
    ("disable-", Prefix::Skip),
    ("enable-", Prefix::Enable),
    ("loose-", Prefix::Loose),
    ("maximum-", Prefix::Enable),
];

/// The meaning of a name without its dashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OptionMeaning {
    Nothing,
    Exactly(&'static SlapOption),
    /// The begin of one name.
    ByBegin(&'static SlapOption),
    /// The begin of several names; these are the first and the last of them.
    Several(&'static str, &'static str),
}

/// The meaning of a name, its prefix, and where the prefix ends.
fn meaning(name: &str) -> (OptionMeaning, Prefix, usize) {
    let normal = name.replace('_', "-");
    let whole = meaning_of_whole(&normal);
    if whole != OptionMeaning::Nothing {
        return (whole, Prefix::None, 0);
    }
    for (words, prefix) in PREFIXES {
        let Some(rest) = normal.strip_prefix(words) else {
            continue;
        };
        let found = meaning_of_whole(rest);
        if found != OptionMeaning::Nothing || prefix == Prefix::Loose {
            return (found, prefix, words.len());
        }
    }
    (OptionMeaning::Nothing, Prefix::None, 0)
}

fn meaning_of_whole(normal: &str) -> OptionMeaning {
    let visible = |known: &&SlapOption| match known.whose {
        SlapWhose::Ours => known.name == normal,
        _ => known.name.starts_with(normal),
    };
    if normal.is_empty() {
        return OptionMeaning::Nothing;
    }
    let found: Vec<&'static SlapOption> = OPTIONS.iter().filter(visible).collect();
    if let Some(exact) = found.iter().find(|known| known.name == normal) {
        return OptionMeaning::Exactly(exact);
    }
    match found.as_slice() {
        [] => OptionMeaning::Nothing,
        [only] => OptionMeaning::ByBegin(only),
        [first, .., last] => OptionMeaning::Several(first.name, last.name),
    }
}

/// Whether a name without its dashes means one option.
fn is_known(name: &str) -> bool {
    matches!(meaning(name).0, OptionMeaning::Exactly(_))
}

/// The option in this word, if it has no value and takes one only directly after it.
fn maybe_text(word: &str) -> Option<&'static SlapOption> {
    let found = match word.strip_prefix("--") {
        Some(long) => match meaning(long).0 {
            OptionMeaning::Exactly(known) | OptionMeaning::ByBegin(known) => Some(known),
            _ => None,
        },
        None => {
            let letters = word.strip_prefix('-')?;
            let mut known = letters.chars().map(of_letter);
            let last = known.next_back()??;
            known
                .all(|known| known.is_some_and(|known| !known.takes.has_value_behind()))
                .then_some(last)
        }
    };
    found.filter(|known| known.takes == Takes::MaybeText)
}

fn of_letter(letter: char) -> Option<&'static SlapOption> {
    OPTIONS.iter().find(|known| known.letter == Some(letter))
}

/// The byte of a word at which a password begins, or may begin: the value of an option unknown to
/// us may be one. It is the word's length if the password is not in it.
pub fn secret_in(word: &str) -> Option<usize> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, has_value) = match long.split_once('=') {
            Some((name, _)) => (name, true),
            None => (long, false),
        };
        return match meaning(name).0 {
            OptionMeaning::Exactly(known) | OptionMeaning::ByBegin(known)
                if known.name != PASSWORD =>
            {
                None
            }
            OptionMeaning::Exactly(_) | OptionMeaning::ByBegin(_) | OptionMeaning::Several(..)
                if !has_value =>
            {
                Some(word.len())
            }
            _ => secret_of_unknown(long).map(|at| at + 2),
        };
    }
    // Letters before -p take no value: -vpSECRET.
    let letters = word.strip_prefix('-')?;
    let takes_value =
        |letter: char| of_letter(letter).is_some_and(|known| known.takes.has_value_behind());
    let at = letters.find(takes_value)?;
    letters.get(at..)?.starts_with('p').then_some(at + 2)
}

/// The place in a word of an unknown name, without its dashes, where a password may begin.
fn secret_of_unknown(long: &str) -> Option<usize> {
    let name = secrets::name_of(long).len();
    if name < long.len() {
        return Some(name + 1);
    }
    // One dash too many before -pSECRET.
    let letters = long.trim_start_matches('-');
    letters
        .starts_with('p')
        .then_some(long.len() - letters.len() + 1)
}

impl Reader<'_> {
    fn long(&mut self, place: usize, word: &str) -> Result<(), String> {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let (meaning, prefix, begins) = meaning(name);
        let known = match meaning {
            OptionMeaning::Exactly(known) => known,
            OptionMeaning::ByBegin(known) => {
                let shown = name.get(begins..).unwrap_or_default();
                self.line.warnings.push(format!(
                    "Info: Using unique option prefix '{shown}' is error-prone and can break in \
                     the future. Please use the full name '{}' instead.",
                    known.name
                ));
                known
            }
            OptionMeaning::Several(first, last) => {
                let shown = secrets::cut(word, value.map(|_| name.len() + 1));
                return Err(format!("ambiguous option '--{shown}' ({first}, {last})"));
            }
            OptionMeaning::Nothing => return self.unknown(word, prefix),
        };
        let value = match (known.takes, value, prefix) {
            (Takes::Switch, None, Prefix::Skip) => Some("0".to_owned()),
            (_, _, Prefix::Skip) => {
                return Err(format!("--{name}: --{} cannot be switched off", known.name));
            }
            (Takes::Nothing, Some(_), _) => {
                return Err(format!("option '--{name}' cannot take an argument"));
            }
            (Takes::Text | Takes::Number, None, _) => Some(self.next_word(&format!("--{name}"))?),
            (_, value, _) => value.map(str::to_owned),
        };
        self.take(place, known, value, &format!("--{name}"))
    }

    fn letters(&mut self, place: usize, word: &str) -> Result<(), String> {
        let mut rest = word.chars();
        while let Some(letter) = rest.next() {
            let Some(known) = of_letter(letter) else {
                return Err(format!("unknown option '-{letter}'"));
            };
            let behind = Some(rest.as_str().to_owned()).filter(|behind| !behind.is_empty());
            let shown = format!("-{letter}");
            match known.takes {
                Takes::Nothing | Takes::Switch => self.take(place, known, None, &shown)?,
                Takes::MaybeText => return self.take(place, known, behind, &shown),
                Takes::Text | Takes::Number => {
                    let value = behind.map_or_else(|| self.next_word(&shown), Ok)?;
                    return self.take(place, known, Some(value), &shown);
                }
            }
        }
        Ok(())
    }

    fn next_word(&mut self, shown: &str) -> Result<String, String> {
        let next = self.words.next();
        next.map(|(_, word)| word.clone())
            .ok_or_else(|| format!("option '{shown}' requires an argument"))
    }

    /// The value is not repeated: it may be a password.
    fn unknown(&mut self, word: &str, prefix: Prefix) -> Result<(), String> {
        let shown = secrets::cut(word, secret_of_unknown(word));
        let mut words = match word.contains('=') {
            true => format!("unknown variable '{shown}'"),
            false => format!("unknown option '--{shown}'"),
        };
        if prefix == Prefix::Loose {
            let warning = format!("Warning: mysqlslap: {words}");
            self.line.warnings.push(warning);
            return Ok(());
        }
        let name = secrets::name_of(word);
        let names = OPTIONS.iter().map(|known| known.name);
        if let Some(nearest) = nearest_of(&name.replace('_', "-"), names) {
            words.push_str(&format!("; did you mean --{nearest}?"));
        }
        Err(words)
    }

    fn take(
        &mut self,
        place: usize,
        option: &'static SlapOption,
        mut value: Option<String>,
        shown: &str,
    ) -> Result<(), String> {
        if let SlapWhose::Refused(why) = option.whose {
            return Err(format!("{shown}: {why}"));
        }
        let name = option.name;
        let text = value.as_deref().unwrap_or_default();
        if option.takes == Takes::Number && number(text).is_none() {
            return Err(format!(
                "{shown}={text}: use a whole number; K, M, G, T, P or E may follow it"
            ));
        }
        if option.takes == Takes::Switch {
            let on = match value.as_deref().map(str::to_ascii_lowercase).as_deref() {
                None | Some("1" | "on" | "true") => "1",
                Some("0" | "off" | "false") => "0",
                Some(_) => return Err(format!("--{name}={text}: use on or off")),
            };
            value = Some(on.to_owned());
        }
        self.line.given.push(SlapGiven {
            option,
            value,
            on_line: place >= self.from_files,
        });
        Ok(())
    }
}

/// A whole number with a suffix: K is 1024, M its square, and so on.
fn number(text: &str) -> Option<u64> {
    let digits = text.trim_start();
    let end = digits.find(|c: char| !c.is_ascii_digit());
    let (digits, suffix) = digits.split_at(end.unwrap_or(digits.len()));
    let power = match suffix.to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        "P" => 5,
        "E" => 6,
        _ => return None,
    };
    let whole = match digits {
        "" => 0,
        digits => digits.parse::<u64>().ok()?,
    };
    whole.checked_mul(1 << (10 * power))
}

/// Why the word at this place, which belongs to no option, is refused.
pub fn refusal_of_stray(words: &[String], place: usize) -> String {
    let word = words.get(place).map_or("", String::as_str);
    let before = place.checked_sub(1).and_then(|before| words.get(before));
    if let Some(option) = before.and_then(|before| maybe_text(before)) {
        return match option.letter {
            // The word may be the password.
            Some('p') => {
                "the word after -p or --password belongs to no option: write a password directly \
                 after -p, or after --password=; write a port after -P"
                    .to_owned()
            }
            _ => format!(
                "\"{word}\" belongs to no option: write --{name}=VALUE, with an equals sign",
                name = option.name
            ),
        };
    }
    if let Some(bare) = without_dashes(word) {
        return with_minus_signs(word, bare, is_known);
    }
    if let Some((name, _)) = word.split_once('=').filter(|(name, _)| is_known(name)) {
        return format!("\"{name}=…\" belongs to no option: write --{name}=…");
    }
    let hidden = secrets::places(words, secret_in);
    let begins = hidden.iter().find(|(at, _)| *at == place);
    let shown = secrets::cut(word, begins.map(|(_, begins)| *begins));
    format!(
        "\"{}\" belongs to no option: quote a value that contains spaces",
        secrets::hidden(&shown)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Vec<(&'static str, String)>, String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let line = parse(&words, 0)?;
        let pair = |given: SlapGiven| (given.option.name, given.value.unwrap_or_default());
        Ok(line.given.into_iter().map(pair).collect())
    }

    fn one(line: &str) -> (&'static str, String) {
        read(line).map_or(("", String::new()), |mut all| all.remove(0))
    }

    fn refused(line: &str) -> String {
        read(line).err().unwrap_or_default()
    }

    #[test]
    fn options_are_read_as_by_the_clients_of_the_servers() {
        let pair = |name, value: &str| (name, value.to_owned());
        assert_eq!(one("--concurrency=2"), pair("concurrency", "2"));
        assert_eq!(one("--create_schema s"), pair("create-schema", "s"));
        assert_eq!(one("--quer=x"), pair("query", "x"));
        assert_eq!(one("-c2"), pair("concurrency", "2"));
        assert_eq!(one("-c 2"), pair("concurrency", "2"));
        assert_eq!(one("--skip-no-drop"), pair("no-drop", "0"));
        assert_eq!(one("--loose-iterations=3"), pair("iterations", "3"));
        assert_eq!(one("--csv c.csv"), pair("csv", ""));
        assert_eq!(one("-psecret"), pair("password", "secret"));
        assert_eq!(read("-asc2 stray -- --foo").map(|all| all.len()), Ok(3));
        let words = ["-asc2", "stray", "-F", ";", "-", "--", "--foo"].map(str::to_owned);
        let strays = parse(&words, 0).map(|line| line.strays);
        assert_eq!(strays, Ok(vec![1, 4, 6]));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, words) in [
            ("--foo", "unknown option '--foo'"),
            ("--foo=1", "unknown variable 'foo=***'"),
            ("-z", "unknown option '-z'"),
            ("--query", "option '--query' requires an argument"),
            ("-c", "option '-c' requires an argument"),
            ("--verbose=3", "option '--verbose' cannot take an argument"),
            ("--skip-query", "--query cannot be switched off"),
            ("--ver", "ambiguous option '--ver' (verbose, version)"),
            ("--commit=1x", "--commit=1x: use a whole number"),
            ("--commit=-1", "--commit=-1: use a whole number"),
            ("--ssl-crl=x", "--ssl-crl: "),
        ] {
            assert!(refused(line).contains(words), "{line}: {}", refused(line));
        }
    }

    #[test]
    fn our_own_options_are_never_shortened() {
        assert!(refused("--dura=3s").starts_with("unknown variable"));
        assert_eq!(one("--duration=3s"), ("duration", "3s".to_owned()));
        // Their short forms still work, though ours begin alike.
        assert_eq!(one("--deta=3").0, "detach");
    }

    #[test]
    fn numbers_have_suffixes() {
        assert_eq!(number("2k"), Some(2048));
        assert_eq!(number(""), Some(0));
        assert_eq!(number("1G"), Some(1 << 30));
        for text in ["99999999999999999999", "1.5", "-1", "1x", "17179869184G"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    fn left(line: &str) -> String {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        for (word, begins) in secrets::places(&words, secret_in) {
            words[word].truncate(begins);
        }
        words.join(" ")
    }

    #[test]
    fn passwords_are_found_however_they_are_given() {
        let case = |given: &str, shown: &str| assert_eq!(left(given), shown);
        case("-psecret -a", "-p -a");
        case("-vpsecret -svpsecret", "-vp -svp");
        case("-p -uproot", "-p -uproot");
        case("-p secret -a b", "-p  -a b");
        case("--password secret", "--password ");
        case(
            "--port=3306 -P33 --pre-query=x",
            "--port=3306 -P33 --pre-query=x",
        );
        case("-cp5 --query=p", "-cp5 --query=p");
        // Also where the line will be refused: no option, or more than one, is meant.
        for name in [
            "password",
            "pass",
            "p",
            "PASSWORD",
            "loose-password",
            "loose_password",
            "loose-pass",
            "loose_pa",
            "loo-pass",
            "enable-password",
            "enable_password",
            "maximum-password",
            "maximum-pass",
            "skip-password",
            "disable-password",
            "pasword",
            "loose-unknown",
        ] {
            case(&format!("--{name}=secret -a"), &format!("--{name}= -a"));
        }
        case("--psecret", "--p");
    }

    #[test]
    fn a_word_is_named_with_what_was_meant() {
        for (line, place, named) in [
            ("–concurrency=10 -a", 0, "--concurrency"),
            ("–pSECRET -a", 0, "may be a password"),
            ("–password=SECRET -a", 0, "--password"),
            ("-p 3306 -a", 1, "a port after -P"),
            ("-vp SECRET -a", 1, "directly after -p"),
            ("--password SECRET", 1, "--password="),
            ("--csv out.csv", 1, "--csv=VALUE"),
            ("user=sb -a", 0, "--user=…"),
            ("password=SECRET -a", 0, "--password=…"),
            ("--query select 1", 2, "\"1\" belongs to no option"),
            ("-- --foo", 1, "\"--foo\""),
            ("-", 0, "\"-\""),
            ("mysql://u:SECRET@h/d", 0, "u:***@h/d"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let words = refusal_of_stray(&words, place);
            assert!(words.contains(named), "{line}: {words}");
            assert!(!words.contains("SECRET"), "{line}: {words}");
        }
    }
}
