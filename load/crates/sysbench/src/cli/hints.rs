//! Hints for a user whose command line failed.

use super::table;
use crate::lua::chunks;
use crate::lua::options::{OptionType, normal_name};
use crate::lua::run::{Compat, LoadedScript};
use contend_console::suggestions::{nearest_of, with_minus_signs, without_dashes};

/// Tests of 0.4 and 0.5 whose names are others today.
const SUCCESSORS: [(&str, &str); 7] = [
    ("oltp", "oltp_read_write"),
    ("oltp_simple", "oltp_point_select"),
    ("select", "oltp_point_select"),
    ("insert", "oltp_insert"),
    ("delete", "oltp_delete"),
    ("update_index", "oltp_update_index"),
    ("update_non_index", "oltp_update_non_index"),
];

/// About a word that was taken for a test or a command and was meant for an option. Values are not
/// repeated: one may be a password.
pub fn of_words(arguments: &[String]) -> Option<String> {
    let mut before = "";
    for word in arguments {
        if !word.starts_with("--") {
            let hint = of_word(word, before);
            if hint.is_some() {
                return hint;
            }
        }
        before = word;
    }
    None
}

fn of_word(word: &str, before: &str) -> Option<String> {
    let one_dash = || word.strip_prefix('-').filter(|bare| !bare.is_empty());
    if let Some(bare) = without_dashes(word).or_else(one_dash) {
        let is_known = |name: &str| known(name).is_some();
        return Some(with_minus_signs(word, bare, is_known));
    }
    let Some((name, _)) = word.split_once('=') else {
        let option = before.strip_prefix("--")?;
        let is_due = known(option).is_some_and(|known| known.kind != OptionType::Bool);
        return is_due.then(|| format!("write --{option}=VALUE, with an equals sign"));
    };
    let names = [name.to_owned(), format!("mysql-{name}")];
    let option = names.iter().find(|name| known(name).is_some());
    let option = option.map_or(name, String::as_str);
    Some(format!("\"{name}=…\" is not an option; write --{option}=…"))
}

fn known(option: &str) -> Option<&'static table::Known> {
    table::named_in_either(Compat::V1_0, &normal_name(option))
}

/// About a test that is nowhere.
pub fn of_test(name: &str) -> Option<String> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let stem = file.strip_suffix(".lua").unwrap_or(file);
    let successor = SUCCESSORS.iter().find(|(old, _)| *old == stem);
    if let Some((old, today)) = successor {
        return Some(format!(
            "{old} of sysbench 0.4 and 0.5 is now {today}; --oltp-table-size is now --table-size, \
             --oltp-tables-count is now --tables"
        ));
    }
    let nearest = nearest_of(stem, chunks::bundled_names())?;
    Some(format!("did you mean {nearest}?"))
}

/// About a script that is nothing of the kind, such as a result that was saved by the name of the
/// test.
pub fn of_script(script: &LoadedScript) -> Option<String> {
    let name = script.name.as_deref()?;
    (!script.bundled && chunks::bundled(name).is_some()).then(|| {
        format!(
            "the file \"{name}\" in the current folder was used as the test; rename it, or run \
             the bundled {name} in a different folder"
        )
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn hint(words: &[&str]) -> Option<String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        of_words(&words)
    }

    #[test]
    fn a_word_that_was_to_be_an_option_is_named_without_its_value() {
        for (words, named) in [
            (
                vec!["--tables=1", "user=sb", "oltp_insert", "prepare"],
                "--mysql-user=…",
            ),
            (
                vec!["password=SECRET", "oltp_insert", "run"],
                "--mysql-password=…",
            ),
            (
                vec!["oltp_insert", "–threads=4", "run"],
                "\"–threads\" is not",
            ),
            (vec!["oltp_insert", "-threads=4", "run"], "--threads"),
            (
                vec!["--threads", "4", "oltp_insert", "run"],
                "--threads=VALUE",
            ),
        ] {
            let hint = hint(&words).unwrap();
            assert!(hint.contains(named) && !hint.contains("SECRET"), "{hint}");
        }
        assert_eq!(hint(&["oltp_insert", "run", "again"]), None);
        assert_eq!(hint(&["--debug", "oltp_insert", "-"]), None);
    }

    #[test]
    fn a_test_of_earlier_days_has_a_successor() {
        for (name, named) in [
            ("oltp", "oltp_read_write"),
            (
                "/usr/share/sysbench/tests/include/oltp_legacy/select.lua",
                "oltp_point_select",
            ),
            ("oltp_readonly", "oltp_read_only"),
        ] {
            assert!(of_test(name).unwrap().contains(named), "{name}");
        }
        assert_eq!(of_test("no_such_test_of_anybody"), None);
    }
}
