//! Names of people, made of syllables: 1,275 first names, 25 of them beginning with "Jo", and 1,637
//! last names; Aamodt is the first of these in the alphabet.

/// No entry of a list is the beginning of a different one, so that no two names are equal.
const FIRST_STARTS: [&str; 25] = [
    "Al", "Be", "Bri", "Cor", "Da", "El", "Fa", "Gi", "Ha", "Il", "Ka", "La", "Mar", "Na", "Or",
    "Pa", "Ro", "Sa", "Ste", "Ta", "Ul", "Vi", "Wa", "Ya", "Ze",
];
const FIRST_CONSONANTS: [&str; 10] = ["d", "l", "m", "n", "r", "s", "t", "v", "k", "b"];
const FIRST_VOWELS: [&str; 5] = ["a", "e", "i", "o", "an"];
const FIRST_ENDS: usize = FIRST_CONSONANTS.len() * FIRST_VOWELS.len();
/// As many of the ends have a name with this in front.
const JO: (&str, usize) = ("Jo", 25);

const LAST_STARTS: [&str; 41] = [
    "Bar", "Bel", "Bor", "Bru", "Cal", "Cem", "Cor", "Dal", "Der", "Dol", "Ern", "Fal", "Fen",
    "Gar", "Gel", "Gor", "Hal", "Hen", "Hol", "Ing", "Jar", "Kal", "Ken", "Kor", "Lam", "Len",
    "Lor", "Mal", "Mer", "Mor", "Nar", "Nel", "Nor", "Pal", "Per", "Ras", "Ren", "Sal", "Ser",
    "Tor", "Vel",
];
const LAST_CONSONANTS: [&str; 8] = ["b", "d", "g", "k", "m", "s", "t", "v"];
const LAST_VOWELS: [&str; 5] = ["a", "en", "ic", "o", "un"];

pub const FIRST_NAMES: u64 = (FIRST_STARTS.len() * FIRST_ENDS + JO.1) as u64;
/// Besides Aamodt; the last four of the combinations are left out.
pub const OTHER_LAST_NAMES: u64 =
    (LAST_STARTS.len() * LAST_CONSONANTS.len() * LAST_VOWELS.len()) as u64 - 4;
pub const AAMODT: &str = "Aamodt";

/// The syllables of a first name, by its number below [`FIRST_NAMES`].
pub fn first(number: u64) -> [&'static str; 3] {
    let number = number as usize;
    let (start, end) = match FIRST_STARTS.get(number / FIRST_ENDS) {
        Some(start) => (*start, number % FIRST_ENDS),
        None => (JO.0, number % FIRST_ENDS % JO.1),
    };
    joined(start, end, &FIRST_CONSONANTS, &FIRST_VOWELS)
}

/// The syllables of a last name, by its number below [`OTHER_LAST_NAMES`].
pub fn last(number: u64) -> [&'static str; 3] {
    let ends = LAST_CONSONANTS.len() * LAST_VOWELS.len();
    let start = LAST_STARTS
        .get(number as usize / ends)
        .copied()
        .unwrap_or_default();
    joined(
        start,
        number as usize % ends,
        &LAST_CONSONANTS,
        &LAST_VOWELS,
    )
}

fn joined(
    start: &'static str,
    end: usize,
    consonants: &[&'static str],
    vowels: &[&'static str],
) -> [&'static str; 3] {
    let consonant = consonants.get(end % consonants.len()).copied();
    let vowel = vowels.get(end / consonants.len()).copied();
    [
        start,
        consonant.unwrap_or_default(),
        vowel.unwrap_or_default(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn there_are_as_many_names_as_stated_and_they_fit_their_columns() {
        let firsts: HashSet<String> = (0..FIRST_NAMES).map(|n| first(n).concat()).collect();
        let lasts: HashSet<String> = (0..OTHER_LAST_NAMES).map(|n| last(n).concat()).collect();
        assert_eq!((firsts.len(), lasts.len() + 1), (1_275, 1_637));
        assert!(firsts.iter().all(|name| name.len() <= 14));
        assert!(lasts.iter().all(|name| name.len() <= 16));
        assert!(lasts.iter().all(|name| name.as_str() > AAMODT));
        let jo = firsts.iter().filter(|name| name.contains("Jo")).count();
        assert_eq!(jo, 25);
    }
}
