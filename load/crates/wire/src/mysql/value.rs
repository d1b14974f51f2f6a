//! Values in the binary protocol.

use crate::value::{Date, Time, Value};

/// Type codes of the protocol.
pub mod kind {
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const NEWDECIMAL: u8 = 246;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
}

/// Set in the second byte of a parameter's type where it is unsigned.
pub(super) const UNSIGNED: u8 = 0x80;

impl Value<'_> {
    /// The two type bytes that announce the value; none for NULL, which fits any type.
    pub fn announced(&self) -> Option<[u8; 2]> {
        Some(match self {
            Self::Null => return None,
            Self::Int(_) => [kind::LONGLONG, 0],
            Self::Int32(_) => [kind::LONG, 0],
            Self::UInt(_) => [kind::LONGLONG, UNSIGNED],
            Self::Float(_) => [kind::FLOAT, 0],
            Self::Double(_) => [kind::DOUBLE, 0],
            Self::Bytes(_) => [kind::VAR_STRING, 0],
            Self::Decimal(_) => [kind::NEWDECIMAL, 0],
            Self::Date(_) => [kind::DATETIME, 0],
            Self::Time(_) => [kind::TIME, 0],
        })
    }

    /// Appends the value as the binary protocol carries it; NULL has no bytes.
    #[inline]
    pub fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => {}
            Self::Int(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Int32(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::UInt(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Float(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Bytes(bytes) | Self::Decimal(bytes) => {
                super::cursor::put_lenenc_bytes(out, bytes);
            }
            Self::Date(date) => date.put(out),
            Self::Time(time) => time.put(out),
        }
    }
}

impl Date {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(11);
        out.extend_from_slice(&self.year.to_le_bytes());
        out.extend_from_slice(&[self.month, self.day, self.hour, self.minute, self.second]);
        out.extend_from_slice(&self.microsecond.to_le_bytes());
    }
}

impl Time {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(12);
        out.push(u8::from(self.negative));
        out.extend_from_slice(&self.days.to_le_bytes());
        out.extend_from_slice(&[self.hour, self.minute, self.second]);
        out.extend_from_slice(&self.microsecond.to_le_bytes());
    }
}
