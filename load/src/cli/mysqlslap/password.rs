//! Passwords: out of sight on the command line, asked for on the terminal.

use super::options::{OPTIONS, Takes};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};

/// Overwrites passwords in the arguments of this process, which others see in the process list.
/// It is not fatal if that fails.
pub fn hide() {
    // What cannot be hidden was visible before this program began.
    let _ = overwrite();
}

fn overwrite() -> io::Result<()> {
    let (start, end) = arguments_at()?;
    let place = std::ptr::with_exposed_provenance_mut::<u8>(start);
    // SAFETY: the kernel says that our arguments are there, and they stay for as long as we live.
    // There is no other thread yet that may read them, and what was read of them is a copy.
    let arguments = unsafe { std::slice::from_raw_parts_mut(place, end - start) };
    for (place, length) in passwords(arguments) {
        let hidden = arguments.get_mut(place..place + length);
        let letters = std::iter::once(b'x').chain(std::iter::repeat(0));
        for (byte, letter) in hidden.into_iter().flatten().zip(letters) {
            *byte = letter;
        }
    }
    Ok(())
}

/// Where the kernel has put our arguments: fields 48 and 49 of the line about us, see proc(5).
fn arguments_at() -> io::Result<(usize, usize)> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name of the program stands in brackets and may have blanks in it.
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

/// Places and lengths of the passwords in NUL-separated arguments.
fn passwords(arguments: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut place = 0;
    for argument in arguments.split(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(argument);
        // Letters in front of -p take no value: -vpSECRET.
        let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let before = match (
            letters,
            text.strip_prefix("--").and_then(|t| t.split_once('=')),
        ) {
            (Some(letters), _) => letters
                .find(|letter| !takes_nothing(letter))
                .filter(|at| letters.get(*at..).is_some_and(|rest| rest.starts_with('p')))
                .map(|at| at + 2),
            (None, Some((name, _))) => (name.len() >= 2
                && ["password", "loose-password"]
                    .iter()
                    .any(|word| word.starts_with(name)))
            .then_some(name.len() + 3),
            _ => None,
        };
        if let Some(before) = before.filter(|before| *before < argument.len()) {
            found.push((place + before, argument.len() - before));
        }
        place += argument.len() + 1;
    }
    found
}

fn takes_nothing(letter: char) -> bool {
    OPTIONS.iter().any(|known| {
        known.letter == Some(letter) && matches!(known.takes, Takes::Nothing | Takes::Switch)
    })
}

/// Asks on the terminal, or on standard error and input where there is none.
///
/// # Errors
/// Nobody answers.
pub fn ask() -> io::Result<String> {
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty");
    let mut line = String::new();
    match terminal {
        Ok(mut terminal) => {
            terminal.write_all(b"Enter password: ")?;
            let quiet = Quiet::new(&terminal);
            BufReader::new(&terminal).read_line(&mut line)?;
            drop(quiet);
            terminal.write_all(b"\n")?;
        }
        Err(_) => {
            io::stderr().write_all(b"Enter password: ")?;
            io::stdin().lock().read_line(&mut line)?;
        }
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// A terminal that does not show what is typed, until this is dropped.
struct Quiet<'t> {
    terminal: &'t File,
    before: Option<rustix::termios::Termios>,
}

impl<'t> Quiet<'t> {
    fn new(terminal: &'t File) -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(terminal).ok();
        if let Some(before) = &before {
            let mut quiet = before.clone();
            quiet.local_modes.remove(LocalModes::ECHO);
            // If it is refused the password is seen by whoever typed it.
            let _ = tcsetattr(terminal, OptionalActions::Flush, &quiet);
        }
        Self { terminal, before }
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let now = rustix::termios::OptionalActions::Now;
            let _ = rustix::termios::tcsetattr(self.terminal, now, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(arguments: &str) -> String {
        let mut bytes = arguments.replace(' ', "\0").into_bytes();
        for (place, length) in passwords(&bytes) {
            bytes[place..place + length].fill(b'x');
        }
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    }

    #[test]
    fn passwords_are_found_however_they_are_given() {
        let case = |given: &str, left: &str| assert_eq!(hidden(given), left);
        case("slap -psecret -a", "slap -pxxxxxx -a");
        case("slap --password=secret", "slap --password=xxxxxx");
        case("slap --pass=secret", "slap --pass=xxxxxx");
        case("slap -vpsecret", "slap -vpxxxxxx");
        case("slap -p -uproot", "slap -p -uproot");
        case("slap --port=3306 -P33", "slap --port=3306 -P33");
        case("slap -cp5 --query=p", "slap -cp5 --query=p");
    }

    #[test]
    fn our_own_arguments_are_found() {
        assert!(arguments_at().is_ok_and(|(start, end)| end - start < 1 << 20));
    }
}
