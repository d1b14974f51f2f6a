//! Words that belong to no option: which, and what the user meant.

use super::arguments::{is_known, maybe_text, secret_in};
use crate::cli::secrets;
use crate::cli::stray::{with_minus_signs, without_dashes};

/// Says of the word at this place that it belongs to no option.
pub fn refusal(words: &[String], place: usize) -> String {
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

    #[test]
    fn a_word_is_named_with_what_was_meant() {
        for (line, place, said) in [
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
            let words = refusal(&words, place);
            assert!(words.contains(said), "{line}: {words}");
            assert!(!words.contains("SECRET"), "{line}: {words}");
        }
    }
}
