//! Which known name the user may have meant.

/// The one of `names` that is most like `wrong`; none if none is like it.
pub fn nearest_of<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names
        .map(|name| (strsim::levenshtein(wrong, name), name))
        .min()
        // A name that shares less than half does not help.
        .filter(|(distance, name)| distance * 2 <= name.chars().count().max(2))
        .map(|(_, name)| name)
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
}
