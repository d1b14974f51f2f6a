//! Values: parameters of a request, columns of a row.

/// One value. Text, and decimals that a server sends, are bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'v> {
    Null,
    Int(i64),
    /// Like `Int`, in four bytes.
    Int32(i32),
    UInt(u64),
    Float(f32),
    Double(f64),
    Bytes(&'v [u8]),
    /// A decimal number that we send, in digits.
    Decimal(&'v [u8]),
    Date(Date),
    Time(Time),
}

impl Value<'_> {
    /// A whole number, of a text its digits; none if it is none, or NULL.
    pub fn as_int(&self) -> Option<i64> {
        match *self {
            Self::Int(number) => Some(number),
            Self::Int32(number) => Some(number.into()),
            Self::UInt(number) => number.try_into().ok(),
            Self::Bytes(digits) | Self::Decimal(digits) => {
                std::str::from_utf8(digits).ok()?.parse().ok()
            }
            _ => None,
        }
    }
}

/// A date or, with its time, a timestamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Date {
    pub year: u16,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub microsecond: u32,
}

/// A span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    pub negative: bool,
    pub days: u32,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub microsecond: u32,
}
