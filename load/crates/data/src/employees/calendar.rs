//! Days, and how a server reads them.

use std::sync::LazyLock;

/// A day, counted from the first of 1950.
pub type Day = u32;
/// The end of what lasts.
pub const FOREVER: Day = Day::MAX;
const FIRST_YEAR: u32 = 1950;
const YEARS: u32 = 60;

const fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn month_days(year: u32, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

pub const fn day(year: u32, month: u32, of_month: u32) -> Day {
    let mut days = of_month - 1;
    let mut before = FIRST_YEAR;
    while before < year {
        days += if is_leap(before) { 366 } else { 365 };
        before += 1;
    }
    let mut before = 1;
    while before < month {
        days += month_days(year, before);
        before += 1;
    }
    days
}

/// Every day as a server reads it.
static DATES: LazyLock<Vec<[u8; 10]>> = LazyLock::new(|| {
    let mut dates = Vec::new();
    for year in FIRST_YEAR..FIRST_YEAR + YEARS {
        for month in 1..=12 {
            for of_month in 1..=month_days(year, month) {
                let text = format!("{year}-{month:02}-{of_month:02}");
                dates.extend(<[u8; 10]>::try_from(text.as_bytes()));
            }
        }
    }
    dates
});

pub fn date(day: Day) -> &'static [u8] {
    let known = DATES.get(day as usize);
    known.map_or(b"9999-01-01".as_slice(), |date| date.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_days_of_the_calendar() {
        assert_eq!(date(day(1950, 1, 1)), b"1950-01-01");
        assert_eq!(date(day(2000, 2, 29)), b"2000-02-29");
        assert_eq!(date(day(2002, 8, 1)), b"2002-08-01");
        assert_eq!(date(FOREVER), b"9999-01-01");
    }
}
