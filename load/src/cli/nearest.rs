//! Which known name somebody may have meant.

/// Of `names` the one most like `wrong`; none where none is like it.
pub fn nearest_of<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names
        .map(|name| (distance(wrong, name), name))
        .min()
        // A name that shares less than half is no help.
        .filter(|(distance, name)| distance * 2 <= name.chars().count().max(2))
        .map(|(_, name)| name)
}

/// Edits (one character put in, left out, changed) from one word to another.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (place, to) in row.iter().skip(1).zip(&b) {
            let changed = diagonal + usize::from(from != *to);
            diagonal = *place;
            left = changed.min(left + 1).min(place + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_is_near_if_half_of_it_is_right() {
        let names = ["oltp_read_only", "oltp_insert"];
        assert_eq!(
            nearest_of("oltp_readonly", names.into_iter()),
            Some("oltp_read_only")
        );
        assert_eq!(nearest_of("xyzzy", names.into_iter()), None);
    }

    proptest! {
        #[test]
        fn distance_is_a_metric(a in "[a-c]{0,6}", b in "[a-c]{0,6}", c in "[a-c]{0,6}") {
            prop_assert_eq!(distance(&a, &a), 0);
            prop_assert_eq!(distance(&a, &b), distance(&b, &a));
            prop_assert!(distance(&a, &c) <= distance(&a, &b) + distance(&b, &c));
        }
    }
}
