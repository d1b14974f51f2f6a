//! Keeps secrets that users type out of the process list and out of all output.
//!
//! The parser of a command line decides which word of it holds a secret. It judges with the table
//! that it parses with, so that both always take the same spellings for passwords.

use std::borrow::Cow;
use std::io;

/// Stands in the place of a secret.
const HIDDEN: &str = "***";
/// An option with one of these in its name has a secret for its value.
const MARKS: [&str; 4] = ["pas", "pw", "psw", "secret"];
/// So is one that is nearly one of these.
const NAMES: [&str; 2] = ["password", "mysql-password"];
const MISTYPED_MAX: usize = 2;

/// Whether an unknown name is one of a password.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let is_near = |known: &&str| strsim::levenshtein(&name, known) <= MISTYPED_MAX;
    MARKS.iter().any(|mark| name.contains(mark)) || NAMES.iter().any(is_near)
}

/// The name that a text begins with.
pub fn name_of(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c));
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

/// A word without the secret that begins at this byte, if one does.
pub fn cut(word: &str, begins: Option<usize>) -> Cow<'_, str> {
    match begins {
        Some(begins) if begins < word.len() => {
            let shown = word.get(..begins).unwrap_or_default();
            Cow::Owned(format!("{shown}{HIDDEN}"))
        }
        _ => Cow::Borrowed(word),
    }
}

/// A user's text for people to read: passwords of options and of addresses are hidden.
pub fn hidden(text: &str) -> String {
    let mut is_due = false;
    text.split_inclusive(char::is_whitespace)
        .map(|word| {
            let bare = word.trim_end();
            let end = word.get(bare.len()..).unwrap_or_default();
            let shown = match is_due && !bare.is_empty() && !bare.starts_with('-') {
                true => HIDDEN.to_owned(),
                false => hidden_word(bare),
            };
            // The value of an option may be the word after it.
            let is_name = bare.starts_with('-') && name_of(bare) == bare;
            is_due = bare == "-p" || is_name && is_secret(bare);
            format!("{shown}{end}")
        })
        .collect()
}

fn hidden_word(word: &str) -> String {
    // `scheme://user:secret@host`, with the scheme or without.
    if let Some((before, host)) = word.rsplit_once('@') {
        let user_at = before.find("://").map_or(0, |at| at + 3);
        let colon = before.get(user_at..).and_then(|user| user.find(':'));
        if let Some(user) = colon.and_then(|colon| before.get(..user_at + colon)) {
            return format!("{user}:{HIDDEN}@{}", hidden_word(host));
        }
    }
    // The same, cut off before its @: text that is not a port is a password.
    if let Some((before, behind)) = word.split_once("://")
        && let Some((user, rest)) = behind.split_once(':')
        && !user.contains(['/', '?'])
        && !rest.starts_with(|c: char| c.is_ascii_digit())
    {
        return format!("{before}://{user}:{HIDDEN}");
    }
    // `--password=secret`, `?password=secret&…`.
    let mut shown = String::new();
    for part in word.split_inclusive(['?', '&', ',', ';']) {
        match part.split_once('=') {
            Some((name, _)) if is_secret(name) => {
                shown.push_str(&format!("{name}={HIDDEN}"));
                shown.extend(part.chars().last().filter(|c| "?&,;".contains(*c)));
            }
            _ => shown.push_str(part),
        }
    }
    // `-psecret`.
    let quotes = shown.len() - shown.trim_start_matches(['\'', '"', '`']).len();
    let (quote, option) = shown.split_at_checked(quotes).unwrap_or(("", &shown));
    match option.strip_prefix("-p") {
        Some(rest) if !rest.trim_end_matches(['\'', '"', '`']).is_empty() => {
            format!("{quote}-p{HIDDEN}")
        }
        _ => shown,
    }
}

/// The place of a secret in a word: at the word's length if it must be in the next.
type SecretIn = fn(&str) -> Option<usize>;

/// Which words have a secret, and from which byte on.
pub fn places(words: &[String], secret_in: SecretIn) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut is_due = false;
    for (place, word) in words.iter().enumerate() {
        let begins = match secret_in(word) {
            // A word that is not an option was meant for the one before it.
            None if is_due && !word.starts_with('-') => Some(0),
            begins => begins,
        };
        is_due = begins == Some(word.len());
        found.extend(begins.map(|begins| (place, begins)));
    }
    found
}

/// Overwrites secrets in the arguments of this process, which others see in the process list.
/// These arguments are the last of them.
pub fn hide(arguments: &[String], secret_in: SecretIn) {
    // A failure is not fatal: the words were visible before we began.
    let _ = overwrite(arguments.len(), secret_in);
}

fn overwrite(count: usize, secret_in: SecretIn) -> io::Result<()> {
    let (start, end) = arguments_at()?;
    let place = std::ptr::with_exposed_provenance_mut::<u8>(start);
    // SAFETY: the kernel gave us the place of our arguments, and they stay for as long as we live.
    // No thread that may read them exists yet, and what we have read of them is a copy.
    let arguments = unsafe { std::slice::from_raw_parts_mut(place, end - start) };
    overwrite_in(arguments, count, secret_in);
    Ok(())
}

/// The same for arguments that each end with a NUL.
fn overwrite_in(arguments: &mut [u8], count: usize, secret_in: SecretIn) {
    let mut words: Vec<&mut [u8]> = arguments.split_mut(|byte| *byte == 0).collect();
    // Nothing follows the last NUL.
    if words.last().is_some_and(|word| word.is_empty()) {
        words.pop();
    }
    let ours = words.len().saturating_sub(count);
    // A byte is a letter here, so that places are places of bytes.
    let text = |word: &&mut [u8]| word.iter().map(|byte| char::from(byte & 0x7f)).collect();
    let texts: Vec<String> = words.iter().skip(ours).map(text).collect();
    for (word, begins) in places(&texts, secret_in) {
        let word = words.get_mut(ours + word);
        let secret = word.and_then(|word| word.get_mut(begins..));
        let letters = std::iter::once(b'x').chain(std::iter::repeat(0));
        for (byte, letter) in secret.into_iter().flatten().zip(letters) {
            *byte = letter;
        }
    }
}

/// The place of our arguments in memory: fields 48 and 49 of the line about us, see proc(5).
fn arguments_at() -> io::Result<(usize, usize)> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name of the program is in brackets and may have blanks in it.
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    let mut fields = fields
        .split(' ')
        .skip(45)
        .filter_map(|field| field.parse().ok());
    match (fields.next(), fields.next()) {
        (Some(start), Some(end)) if start < end => Ok((start, end)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_be_spelt_in_many_ways() {
        for name in [
            "password",
            "PASSWORD",
            "mysql-password",
            "mysql_pasword",
            "pw",
            "passwd",
            "psasword",
            "loo-pass",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "port",
            "user",
            "tables",
            "p",
            "mysql-port",
            "threads",
            "print-defaults",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn what_a_user_wrote_is_shown_without_its_secrets() {
        for (written, shown) in [
            ("u:X@h", "u:***@h"),
            (
                "error: 'mysql://u:X@h/d' is none",
                "error: 'mysql://u:***@h/d' is none",
            ),
            ("jdbc:mysql://u:X:Y@Z@h", "jdbc:mysql://u:***@h"),
            ("front=mysql://u:X@h", "front=mysql://u:***@h"),
            ("mysql://h/?password=X&a=b", "mysql://h/?password=***&a=b"),
            ("--password=X --port=3", "--password=*** --port=3"),
            ("-pX '-pX'", "-p*** '-p***"),
            ("'-p' found", "'-p' found"),
            (
                "words: --password X -p Y z",
                "words: --password *** -p *** z",
            ),
            ("u:a'b@h", "u:***@h"),
            ("'mysql://u:X'", "'mysql://u:***"),
            ("mysql://h:3306/d", "mysql://h:3306/d"),
            ("what is wrong: it", "what is wrong: it"),
            ("me@host:3306", "me@host:3306"),
        ] {
            assert_eq!(hidden(written), shown);
        }
    }

    #[test]
    fn a_word_is_cut_where_its_secret_begins() {
        assert_eq!(cut("--pass=X", Some(7)), "--pass=***");
        assert_eq!(cut("--pass=X", None), "--pass=X");
        assert_eq!(cut("-p", Some(2)), "-p");
        assert_eq!(cut("\u{e4}X", Some(1)), "***");
    }

    #[test]
    fn only_the_secret_of_an_argument_is_overwritten() {
        let mut arguments = *b"prog\0p=\xc3\xa4b\0--p=secret\0--q=1\0";
        overwrite_in(&mut arguments, 2, |word| word.find('=').map(|at| at + 1));
        assert_eq!(arguments, *b"prog\0p=\xc3\xa4b\0--p=x\0\0\0\0\0\0--q=x\0");
    }

    #[test]
    fn our_own_arguments_are_found() {
        assert!(arguments_at().is_ok_and(|(start, end)| end - start < 1 << 20));
    }
}
