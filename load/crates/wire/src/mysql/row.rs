//! Rows: the values of one row, borrowed from its packet.

use super::column::Column;
use super::cursor::Cursor;
use super::value::{UNSIGNED, kind};
use crate::{Date, Time, Value, WireError};

/// Values of a row of the text protocol; NULL is none.
#[derive(Clone, Debug)]
pub struct TextRow<'p> {
    cursor: Cursor<'p>,
}

impl<'p> TextRow<'p> {
    pub fn new(payload: &'p [u8]) -> Self {
        Self {
            cursor: Cursor::new(payload),
        }
    }
}

impl<'p> Iterator for TextRow<'p> {
    type Item = Result<Option<&'p [u8]>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let first = *self.cursor.rest().first()?;
        if first == 0xfb {
            return Some(self.cursor.u8("NULL").map(|_| None));
        }
        let value = self.cursor.lenenc_bytes("value");
        if value.is_err() {
            self.cursor = Cursor::new(&[]);
        }
        Some(value.map(Some))
    }
}

/// Values of a row of the binary protocol, by the columns of its result set.
#[derive(Clone, Debug)]
pub struct BinaryRow<'c, 'p> {
    columns: std::slice::Iter<'c, Column>,
    nulls: &'p [u8],
    /// Place of the next column in the NULL bitmap.
    bit: usize,
    cursor: Cursor<'p>,
}

/// The bitmap of a row begins two bits late.
const BITS_BEFORE: usize = 2;

impl<'c, 'p> BinaryRow<'c, 'p> {
    pub fn new(columns: &'c [Column], payload: &'p [u8]) -> Result<Self, WireError> {
        let mut cursor = Cursor::new(payload);
        if cursor.u8("row")? != 0 {
            return Err(WireError::theirs(
                "a row of the binary protocol of an unknown kind",
            ));
        }
        let nulls = cursor.bytes((columns.len() + BITS_BEFORE).div_ceil(8), "NULL bitmap")?;
        Ok(Self {
            columns: columns.iter(),
            nulls,
            bit: BITS_BEFORE,
            cursor,
        })
    }
}

impl<'p> Iterator for BinaryRow<'_, 'p> {
    type Item = Result<Value<'p>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let column = self.columns.next()?;
        let (byte, bit) = (self.bit / 8, self.bit % 8);
        self.bit += 1;
        if self
            .nulls
            .get(byte)
            .is_some_and(|bits| bits & (1 << bit) != 0)
        {
            return Some(Ok(Value::Null));
        }
        let value = read(column.kind, column.unsigned, &mut self.cursor);
        if value.is_err() {
            self.columns = [].iter();
        }
        Some(value)
    }
}

/// Values that a client binds to the parameters of a statement, as a server reads them.
#[derive(Clone, Debug, Default)]
pub struct BoundValues<'p> {
    /// The types of the values that are still to come.
    types: &'p [[u8; 2]],
    nulls: &'p [u8],
    /// Place of the next value in the NULL bitmap.
    bit: usize,
    cursor: Cursor<'p>,
}

impl<'p> BoundValues<'p> {
    /// Reads the bytes after the iteration count of COM_STMT_EXECUTE. A client sends the types of
    /// the values with the first execution, and again only when they change: `types`, one for each
    /// parameter, keeps them meanwhile.
    ///
    /// # Errors
    /// The values end before their types do.
    pub fn read(types: &'p mut [[u8; 2]], values: &'p [u8]) -> Result<Self, WireError> {
        let mut cursor = Cursor::new(values);
        if types.is_empty() {
            return Ok(Self::default());
        }
        let nulls = cursor.bytes(types.len().div_ceil(8), "NULL bitmap")?;
        if cursor.u8("mark of types")? == 1 {
            let told = types.as_flattened_mut();
            told.copy_from_slice(cursor.bytes(told.len(), "types")?);
        }
        Ok(Self {
            types,
            nulls,
            bit: 0,
            cursor,
        })
    }
}

impl<'p> Iterator for BoundValues<'p> {
    type Item = Result<Value<'p>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let ([kind, flags], rest) = self.types.split_first()?;
        self.types = rest;
        let (byte, bit) = (self.bit / 8, self.bit % 8);
        self.bit += 1;
        if self
            .nulls
            .get(byte)
            .is_some_and(|bits| bits >> bit & 1 == 1)
        {
            return Some(Ok(Value::Null));
        }
        let value = read(*kind, flags & UNSIGNED != 0, &mut self.cursor);
        if value.is_err() {
            self.types = &[];
        }
        Some(value)
    }
}

fn read<'p>(kind: u8, unsigned: bool, cursor: &mut Cursor<'p>) -> Result<Value<'p>, WireError> {
    Ok(match (kind, unsigned) {
        (kind::TINY, true) => Value::UInt(cursor.u8("value")?.into()),
        (kind::TINY, false) => Value::Int((cursor.u8("value")? as i8).into()),
        (kind::SHORT | kind::YEAR, true) => Value::UInt(cursor.u16("value")?.into()),
        (kind::SHORT | kind::YEAR, false) => Value::Int((cursor.u16("value")? as i16).into()),
        (kind::LONG | kind::INT24, true) => Value::UInt(cursor.u32("value")?.into()),
        (kind::LONG | kind::INT24, false) => Value::Int((cursor.u32("value")? as i32).into()),
        (kind::LONGLONG, true) => Value::UInt(cursor.u64("value")?),
        (kind::LONGLONG, false) => Value::Int(cursor.u64("value")? as i64),
        (kind::FLOAT, _) => Value::Float(f32::from_bits(cursor.u32("value")?)),
        (kind::DOUBLE, _) => Value::Double(f64::from_bits(cursor.u64("value")?)),
        (kind::DATE | kind::DATETIME | kind::TIMESTAMP, _) => Value::Date(date(cursor)?),
        (kind::TIME, _) => Value::Time(time(cursor)?),
        (kind::NULL, _) => Value::Null,
        _ => Value::Bytes(cursor.lenenc_bytes("value")?),
    })
}

/// Trailing parts that are zero are not sent: 0, 4, 7 or 11 bytes.
fn date(cursor: &mut Cursor<'_>) -> Result<Date, WireError> {
    let mut date = Date::default();
    let length = cursor.u8("date's length")?;
    if !matches!(length, 0 | 4 | 7 | 11) {
        return Err(WireError::theirs(format!("a date of {length} bytes")));
    }
    if length >= 4 {
        date.year = cursor.u16("year")?;
        date.month = cursor.u8("month")?;
        date.day = cursor.u8("day")?;
    }
    if length >= 7 {
        date.hour = cursor.u8("hour")?;
        date.minute = cursor.u8("minute")?;
        date.second = cursor.u8("second")?;
    }
    if length == 11 {
        date.microsecond = cursor.u32("microsecond")?;
    }
    Ok(date)
}

/// As a date: 0, 8 or 12 bytes.
fn time(cursor: &mut Cursor<'_>) -> Result<Time, WireError> {
    let mut time = Time::default();
    let length = cursor.u8("time's length")?;
    if !matches!(length, 0 | 8 | 12) {
        return Err(WireError::theirs(format!("a time of {length} bytes")));
    }
    if length >= 8 {
        time.negative = cursor.u8("sign")? != 0;
        time.days = cursor.u32("days")?;
        time.hour = cursor.u8("hour")?;
        time.minute = cursor.u8("minute")?;
        time.second = cursor.u8("second")?;
    }
    if length == 12 {
        time.microsecond = cursor.u32("microsecond")?;
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn column(kind: u8, unsigned: bool) -> Column {
        Column { kind, unsigned }
    }

    #[test]
    fn a_text_row() {
        let values: Vec<_> = TextRow::new(b"\x011\xfb\0\x02ab")
            .map(Result::unwrap)
            .collect();
        assert_eq!(values, [Some(&b"1"[..]), None, Some(b""), Some(b"ab")]);
        let mut torn = TextRow::new(b"\x05ab");
        assert!(torn.next().unwrap().is_err());
        assert!(torn.next().is_none());
    }

    #[test]
    fn a_binary_row() {
        let columns = [
            column(kind::TINY, false),
            column(kind::SHORT, true),
            column(kind::LONG, false),
            column(kind::NULL, false),
            column(kind::VAR_STRING, false),
            column(kind::DATETIME, false),
            column(kind::TIME, false),
            column(kind::FLOAT, false),
        ];
        let payload = b"\0\x20\0\xff\xff\xff\xfe\xff\xff\xff\x02hi\x04\xea\x07\x05\x01\
            \x08\x01\x02\0\0\0\x03\x04\x05\0\0\x80\x3f";
        let values: Vec<_> = BinaryRow::new(&columns, payload)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let date = Date {
            year: 2026,
            month: 5,
            day: 1,
            ..Date::default()
        };
        let time = Time {
            negative: true,
            days: 2,
            hour: 3,
            minute: 4,
            second: 5,
            microsecond: 0,
        };
        assert_eq!(
            values,
            [
                Value::Int(-1),
                Value::UInt(65535),
                Value::Int(-2),
                Value::Null,
                Value::Bytes(b"hi"),
                Value::Date(date),
                Value::Time(time),
                Value::Float(1.0)
            ]
        );
        for length in 0..payload.len() {
            let torn = BinaryRow::new(&columns, &payload[..length]);
            assert!(
                torn.is_err() || torn.unwrap().any(|value| value.is_err()),
                "{length}"
            );
        }
    }

    proptest! {
        #[test]
        fn rubbish_ends_in_an_error_or_in_values(
            kinds in proptest::collection::vec((any::<u8>(), any::<bool>()), 0..20),
            payload in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let columns: Vec<_> = kinds.iter().map(|(kind, sign)| column(*kind, *sign)).collect();
            if let Ok(row) = BinaryRow::new(&columns, &payload) {
                prop_assert!(row.count() <= columns.len());
            }
            prop_assert!(TextRow::new(&payload).count() <= payload.len());
        }
    }
}
