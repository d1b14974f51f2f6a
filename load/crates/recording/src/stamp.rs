//! Dates and times of logs.

/// Days from 1970-01-01 to a day of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A number of exactly these digits; blanks in front count as zeros.
fn number(digits: &[u8]) -> Option<i64> {
    let mut value = 0;
    for (place, digit) in digits.iter().enumerate() {
        match digit {
            b'0'..=b'9' => value = value * 10 + i64::from(digit - b'0'),
            b' ' if value == 0 && place + 1 < digits.len() => {}
            _ => return None,
        }
    }
    Some(value)
}

fn moment(year: i64, month: i64, day: i64, time: &[u8]) -> Option<i64> {
    let &[h1, h2, b':', m1, m2, b':', s1, s2] = time else {
        return None;
    };
    let (hour, minute, second) = (number(&[h1, h2])?, number(&[m1, m2])?, number(&[s1, s2])?);
    let is_right = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60;
    let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    (is_right && second <= 60).then_some(seconds * 1_000_000)
}

/// `YYMMDD HH:MM:SS` of MariaDB, the hour with a blank instead of a zero.
pub fn short(text: &[u8]) -> Option<i64> {
    let (date, time) = (text.get(..6)?, text.get(7..15)?);
    let [year, month, day] = [0, 2, 4].map(|at| number(date.get(at..at + 2).unwrap_or_default()));
    let is_whole = text.len() == 15 && text.get(6) == Some(&b' ') && date.first() != Some(&b' ');
    is_whole.then_some(())?;
    moment(2000 + year?, month?, day?, time)
}

/// `YYYYMMDD HH:MM:SS` of the audit plugin.
pub fn compact(text: &[u8]) -> Option<i64> {
    let is_whole = text.len() == 17 && text.get(8) == Some(&b' ');
    is_whole.then_some(())?;
    let [month, day] = [4, 6].map(|at| number(text.get(at..at + 2).unwrap_or_default()));
    moment(number(text.get(..4)?)?, month?, day?, text.get(9..)?)
}

/// `YYYY-MM-DD HH:MM:SS`, also with `T` between, a fraction, and `Z` or a distance to UTC. The
/// second value says whether there is a fraction.
pub fn iso(text: &[u8]) -> Option<(i64, bool)> {
    let is_date = text.get(4) == Some(&b'-') && text.get(7) == Some(&b'-');
    (is_date && matches!(text.get(10), Some(b'T' | b' '))).then_some(())?;
    let [month, day] = [5, 8].map(|at| number(text.get(at..at + 2).unwrap_or_default()));
    let mut us = moment(number(text.get(..4)?)?, month?, day?, text.get(11..19)?)?;
    let mut rest = text.get(19..)?;
    let mut is_exact = false;
    if let Some(fraction) = rest.strip_prefix(b".").or_else(|| rest.strip_prefix(b",")) {
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit());
        let length = digits.count();
        us += fraction_us(fraction.get(..length)?)?;
        rest = fraction.get(length..)?;
        is_exact = length > 0;
    }
    match rest {
        b"" | b"Z" => Some((us, is_exact)),
        &[sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let ahead = (number(&[h1, h2])? * 60 + number(&[m1, m2])?) * 60_000_000;
            Some((if sign == b'+' { us - ahead } else { us + ahead }, is_exact))
        }
        _ => None,
    }
}

/// Microseconds of the digits behind a point; more digits are cut off.
fn fraction_us(digits: &[u8]) -> Option<i64> {
    let mut us = 0;
    for place in 0..6 {
        let digit = digits.get(place).copied().unwrap_or(b'0');
        us = us * 10 + i64::from(digit.is_ascii_digit().then(|| digit - b'0')?);
    }
    Some(us)
}

/// Seconds as a decimal number, such as `5.204417`, in microseconds.
pub fn seconds_us(text: &[u8]) -> Option<u64> {
    let point = text.iter().position(|byte| *byte == b'.');
    let (whole, digits) = text.split_at(point.unwrap_or(text.len()));
    let fraction = fraction_us(digits.get(1..).unwrap_or_default())?;
    let whole = unsigned(whole)?.checked_mul(1_000_000)?;
    whole.checked_add(u64::try_from(fraction).ok()?)
}

/// A whole number without a sign.
pub fn unsigned(text: &[u8]) -> Option<u64> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(text).ok().filter(|_| is_number)?;
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_all_formats_are_the_same_moment() {
        let us = 1_773_136_799_000_000;
        assert_eq!(short(b"260310  9:59:59"), Some(us));
        assert_eq!(compact(b"20260310 09:59:59"), Some(us));
        assert_eq!(iso(b"2026-03-10 09:59:59"), Some((us, false)));
        assert_eq!(
            iso(b"2026-03-10T09:59:59.000412789Z"),
            Some((us + 412, true))
        );
        assert_eq!(
            iso(b"2026-03-10T11:59:59.5+02:00"),
            Some((us + 500_000, true))
        );
        assert_eq!(
            iso(b"2000-02-29T00:00:00Z"),
            Some((951_782_400_000_000, false))
        );
    }

    #[test]
    fn other_texts_are_not_stamps() {
        for text in ["", "x", "26031  09:59:59", "260310 25:00:00", "2026-03-10"] {
            assert_eq!((short(text.as_bytes()), iso(text.as_bytes())), (None, None));
        }
        assert_eq!(compact(b"20261310 09:59:59"), None);
        assert_eq!(seconds_us(b"5.2044171"), Some(5_204_417));
        assert_eq!(seconds_us(b"7"), Some(7_000_000));
        assert_eq!(seconds_us(b"-1"), None);
        assert_eq!(unsigned(b"+1"), None);
    }
}
