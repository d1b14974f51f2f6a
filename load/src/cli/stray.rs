//! Words of a command line that were to be options.

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
