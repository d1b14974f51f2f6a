//! What the user may have meant by a wrong name, or by a word that was to be an option.

/// The one of `names` that is most like `wrong`; none if none is like it.
pub fn nearest_of<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names
        .map(|name| (strsim::levenshtein(wrong, name), name))
        .min()
        // A name that shares less than half does not help.
        .filter(|(distance, name)| distance * 2 <= name.chars().count().max(2))
        .map(|(_, name)| name)
}

/// Characters that editors and web pages put in place of an option's minus signs.
const DASHES: [char; 5] = ['–', '—', '−', '‐', '‑'];

/// A word without such dashes; none if it begins with none.
pub fn without_dashes(word: &str) -> Option<&str> {
    let is_dash = |c: char| c == '-' || DASHES.contains(&c);
    let bare = word.trim_start_matches(is_dash);
    let begin = word.get(..word.len() - bare.len()).unwrap_or_default();
    (begin.contains(DASHES) && !bare.is_empty()).then_some(bare)
}

/// The correct form of a word that is `bare` without its dashes. The value is not repeated, since
/// it may be a password; so may be the text after a `p`.
pub fn with_minus_signs(word: &str, bare: &str, is_known: impl Fn(&str) -> bool) -> String {
    let name = bare.split_once('=').map_or(bare, |(name, _)| name);
    if name.starts_with('p') && !is_known(name) {
        return "write an option as two minus signs and its name; the word without them may be a \
                password and is not shown"
            .to_owned();
    }
    let dashes = word.strip_suffix(bare).unwrap_or_default();
    format!("\"{dashes}{name}\" is not an option; use two minus signs, --{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_near_if_half_of_it_is_right() {
        let names = ["oltp_read_only", "oltp_insert"];
        assert_eq!(
            nearest_of("oltp_readonly", names.into_iter()),
            Some("oltp_read_only")
        );
        assert_eq!(nearest_of("xyzzy", names.into_iter()), None);
    }

    #[test]
    fn dashes_of_a_web_page_are_none_of_an_option() {
        assert_eq!(without_dashes("–concurrency=10"), Some("concurrency=10"));
        assert_eq!(without_dashes("-–a"), Some("a"));
        for word in ["--a", "-a", "a–b", "–", ""] {
            assert_eq!(without_dashes(word), None, "{word}");
        }
    }

    #[test]
    fn what_may_be_a_password_is_not_shown() {
        let said = |word, bare| with_minus_signs(word, bare, |name| name == "port");
        assert!(said("–user=SECRET", "user=SECRET").starts_with("\"–user\" is not"));
        assert!(said("–port=1", "port=1").contains("--port"));
        assert!(!said("–pSECRET", "pSECRET").contains("SECRET"));
    }
}
