//! A statement as a recording holds it, as bytes.

use contend_sql::Mode;

const IS_READ: u16 = 1;
const IS_INTERPOLATED: u16 = 1 << 1;
const NO_BACKSLASH: u16 = 1 << 2;
const ANSI_QUOTES: u16 = 1 << 3;
/// The first of the optional numbers' bits.
const NUMBERS_FROM: u32 = 4;
const NUMBERS: usize = 8;
/// Bytes in front of the numbers.
const FIXED: usize = 22;

/// One statement of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredStatement<'t> {
    pub begin_us: i64,
    pub template: u32,
    /// Number of the session, from 0.
    pub session: u32,
    /// Number of the database.
    pub database: u32,
    pub is_read: bool,
    /// The moment was made from a whole second.
    pub is_interpolated: bool,
    pub no_backslash_escapes: bool,
    pub ansi_quotes: bool,
    pub took_us: Option<u64>,
    pub rows_sent: Option<u64>,
    pub rows_examined: Option<u64>,
    pub rows_affected: Option<u64>,
    pub error: Option<u64>,
    /// The session's `timestamp`, in microseconds since 1970.
    pub timestamp_us: Option<u64>,
    pub insert_id: Option<u64>,
    pub last_insert_id: Option<u64>,
    /// Position in the log.
    pub offset: u64,
    pub text: &'t [u8],
}

impl StoredStatement<'_> {
    fn numbers(&self) -> [Option<u64>; NUMBERS] {
        [
            self.took_us,
            self.rows_sent,
            self.rows_examined,
            self.rows_affected,
            self.error,
            self.timestamp_us,
            self.insert_id,
            self.last_insert_id,
        ]
    }

    /// How its session read quotes.
    pub fn mode(&self) -> Mode {
        Mode {
            ansi_quotes: self.ansi_quotes,
            no_backslash_escapes: self.no_backslash_escapes,
            ..Mode::default()
        }
    }

    /// Adds its bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        let numbers = self.numbers();
        let mut flags = 0;
        for (is_set, flag) in [
            (self.is_read, IS_READ),
            (self.is_interpolated, IS_INTERPOLATED),
            (self.no_backslash_escapes, NO_BACKSLASH),
            (self.ansi_quotes, ANSI_QUOTES),
        ] {
            flags |= if is_set { flag } else { 0 };
        }
        for (place, number) in (NUMBERS_FROM..).zip(&numbers) {
            flags |= u16::from(number.is_some()) << place;
        }
        out.extend_from_slice(&self.begin_us.to_le_bytes());
        out.extend_from_slice(&self.template.to_le_bytes());
        out.extend_from_slice(&self.session.to_le_bytes());
        out.extend_from_slice(&self.database.to_le_bytes());
        out.extend_from_slice(&flags.to_le_bytes());
        for number in numbers.into_iter().flatten() {
            put_number(out, number);
        }
        put_number(out, self.offset);
        put_number(out, self.text.len() as u64);
        out.extend_from_slice(self.text);
    }
}

/// Reads the statement at the beginning of `bytes` and returns it with the bytes behind it.
pub fn read(bytes: &[u8]) -> Option<(StoredStatement<'_>, &[u8])> {
    let (fixed, mut rest) = bytes.split_at_checked(FIXED)?;
    let word = |at: usize| Some(u32::from_le_bytes(fixed.get(at..at + 4)?.try_into().ok()?));
    let flags = u16::from_le_bytes(fixed.get(20..22)?.try_into().ok()?);
    let mut numbers = [None; NUMBERS];
    for (place, number) in (NUMBERS_FROM..).zip(&mut numbers) {
        if flags & 1 << place != 0 {
            let (value, behind) = number_at(rest)?;
            (*number, rest) = (Some(value), behind);
        }
    }
    let (offset, behind) = number_at(rest)?;
    let (length, behind) = number_at(behind)?;
    let (text, rest) = behind.split_at_checked(usize::try_from(length).ok()?)?;
    let [
        took_us,
        rows_sent,
        rows_examined,
        rows_affected,
        error,
        timestamp_us,
        insert_id,
        last,
    ] = numbers;
    let statement = StoredStatement {
        begin_us: i64::from_le_bytes(fixed.get(..8)?.try_into().ok()?),
        template: word(8)?,
        session: word(12)?,
        database: word(16)?,
        is_read: flags & IS_READ != 0,
        is_interpolated: flags & IS_INTERPOLATED != 0,
        no_backslash_escapes: flags & NO_BACKSLASH != 0,
        ansi_quotes: flags & ANSI_QUOTES != 0,
        took_us,
        rows_sent,
        rows_examined,
        rows_affected,
        error,
        timestamp_us,
        insert_id,
        last_insert_id: last,
        offset,
        text,
    };
    Some((statement, rest))
}

/// Seven bits a byte, the lowest first.
fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn number_at(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (place, byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((number, bytes.get(place + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            numbers in proptest::array::uniform8(proptest::option::of(any::<u64>())),
            (begin_us, template, offset) in any::<(i64, u32, u64)>(),
            text in any::<Vec<u8>>(),
        ) {
            let [took_us, rows_sent, rows_examined, rows_affected, error, timestamp_us, insert_id,
                last_insert_id] = numbers;
            let statement = StoredStatement {
                begin_us, template, session: 7, database: 9, is_read: true, is_interpolated: false,
                no_backslash_escapes: true, ansi_quotes: false,
                took_us, rows_sent, rows_examined, rows_affected, error, timestamp_us, insert_id,
                last_insert_id, offset, text: &text,
            };
            let mut bytes = Vec::new();
            statement.write(&mut bytes);
            let length = bytes.len();
            bytes.push(5);
            prop_assert_eq!(read(&bytes).unwrap(), (statement, &[5][..]));
            for cut in 0..length {
                prop_assert_eq!(read(&bytes[..cut]), None);
            }
        }
    }
}
