//! `--help` and `--version`.

use super::options::{OPTIONS, SlapOption, SlapWhose, Takes};

/// Wide enough for most names.
const COLUMN: usize = 44;

pub fn version(program: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("{program}  Ver 1.0 (contend-load {version})\n")
}

pub fn usage(program: &str) -> String {
    let mut text = format!(
        "Runs statements against a server from many clients, and prints the time.\n\nUsage: \
         {program} [OPTIONS]\n\nOption files: /etc/my.cnf, /etc/mysql/my.cnf, ~/.my.cnf; groups \
         mysqlslap, mariadb-slap,\nclient, client-server, client-mariadb. Before all other \
         options:\n\x20 --print-defaults, --no-defaults, --defaults-file=FILE, \
         --defaults-extra-file=FILE,\n\x20 --defaults-group-suffix=SUFFIX\n\nOptions of \
         mysqlslap:\n"
    );
    let refused = |known: &&SlapOption| matches!(known.whose, SlapWhose::Refused(_));
    let (refused, known): (Vec<_>, Vec<_>) = OPTIONS.iter().partition(refused);
    let ours = |known: &&SlapOption| known.whose == SlapWhose::Ours;
    let (ours, theirs): (Vec<_>, Vec<_>) = known.into_iter().partition(ours);
    theirs.iter().for_each(|known| line(&mut text, known));
    text.push_str("\nAdditional options:\n");
    ours.iter().for_each(|known| line(&mut text, known));
    let names: Vec<&str> = refused.iter().map(|known| known.name).collect();
    text.push_str(&format!("\nRefused: --{}.\n", names.join(", --")));
    text
}

fn line(text: &mut String, known: &SlapOption) {
    let letter = known.letter.map(|letter| format!("-{letter}, "));
    let letter = letter.as_deref().unwrap_or("    ");
    let value = match known.takes {
        Takes::Nothing | Takes::Switch => "",
        Takes::Text => "=TEXT",
        Takes::MaybeText => "[=TEXT]",
        Takes::Number => "=N",
    };
    let option = format!("  {letter}--{}{value}", known.name);
    text.push_str(&format!("{option:<COLUMN$} {}\n", known.help));
}
