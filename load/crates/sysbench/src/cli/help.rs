//! Lists of options, as sysbench lays them out.

use super::table::Group;
use crate::cli::table;
use crate::lua::options::{Declared, OptionType};
use crate::lua::run::Compat;
use std::fmt::Write as _;

/// The output of `--help`.
pub fn usage(compat: Compat) -> String {
    let mut text = String::from(
        "Usage:\n  sysbench [options]... [testname] [command]\n\n\
         Commands implemented by most tests: prepare run cleanup help\n\n",
    );
    for group in table::GROUPS {
        put_group(&mut text, group, compat);
    }
    text.push_str("Database drivers:\n  mysql - MariaDB and MySQL\n\n");
    text.push_str("Built-in tests of sysbench (not provided here; use sysbench for them):\n");
    for (name, what) in table::BUILT_IN {
        let _ = writeln!(text, "  {name} - {what}");
    }
    text.push_str("\n'sysbench <testname> help' lists the options of a test.\n\n");
    text
}

fn put_group(text: &mut String, group: &Group, compat: Compat) {
    let options = group.options.iter().filter(|option| option.is_of(compat));
    let rows = options.map(|known| (signature(known.name, known.kind), known.help, known.default));
    let _ = writeln!(
        text,
        "{}\n{}",
        group.title,
        listed(&rows.collect::<Vec<_>>())
    );
}

/// The options that a script declares, in the order of their names.
pub fn script_options(declared: &[Declared]) -> String {
    let mut sorted: Vec<&Declared> = declared.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let rows = sorted.into_iter().map(|option| {
        let name = signature(&option.name, option.kind);
        (name, option.help.as_str(), option.default.as_deref())
    });
    listed(&rows.collect::<Vec<_>>())
}

/// An option's form, its help, its default.
type HelpRow<'a> = (String, &'a str, Option<&'a str>);

fn signature(name: &str, kind: OptionType) -> String {
    let value = match kind {
        OptionType::Bool => "[=on|off]",
        OptionType::Int | OptionType::Double => "=N",
        OptionType::Size => "=SIZE",
        OptionType::Str => "=STRING",
        OptionType::List => "=[LIST,...]",
        OptionType::File => "=FILENAME",
    };
    format!("--{name}{value}")
}

fn listed(rows: &[HelpRow<'_>]) -> String {
    let width = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, help, default) in rows {
        // Writing to a String cannot fail.
        let _ = write!(text, "  {name:<width$} {help}");
        if let Some(default) = default {
            let _ = write!(text, " [{default}]");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_listed_in_columns_with_their_defaults() {
        let option = |name: &str, kind, default: Option<&str>| Declared {
            name: name.to_owned(),
            help: format!("the {name}"),
            default: default.map(str::to_owned),
            kind,
        };
        let text = script_options(&[
            option("rows", OptionType::Double, Some("5")),
            option("fast", OptionType::Bool, Some("on")),
            option("file", OptionType::File, None),
        ]);
        assert_eq!(
            text,
            "  --fast[=on|off] the fast [on]\n  --file=FILENAME the file\n  --rows=N        the rows [5]\n"
        );
    }

    #[test]
    fn help_names_what_belongs_to_the_version() {
        assert!(usage(Compat::V1_0).contains("--num-threads=N"));
        assert!(!usage(Compat::V1_0).contains("--warmup-time"));
        assert!(usage(Compat::V1_1).contains("--warmup-time=N"));
        assert!(!usage(Compat::V1_1).contains("--num-threads"));
        for built_in in ["fileio", "cpu", "memory", "threads", "mutex"] {
            assert!(usage(Compat::V1_0).contains(&format!("  {built_in} - ")));
        }
    }
}
