//! Parameters of prepared statements: one value each, of the kind it was made for.

use contend_wire::Value;
use std::ffi::{c_char, c_int, c_ulong, c_void};

/// Kinds of parameter; the numbers are those of `sysbench.sql.type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    Integer,
    Double,
    Text,
}

impl ParamKind {
    /// The kind for a number of `sysbench.sql.type`; dates and times do not have their own.
    pub fn from_number(number: i64) -> Option<Self> {
        match number {
            1..=4 => Some(Self::Integer),
            5 | 6 => Some(Self::Double),
            11 | 12 => Some(Self::Text),
            _ => None,
        }
    }
}

/// The value of a parameter.
#[derive(Clone, Debug)]
enum Held {
    Null,
    Integer(i64),
    Double(f64),
    Text,
}

/// One parameter. Its memory belongs to Lua; the statement that it is bound to points here.
#[derive(Debug)]
pub struct Param {
    kind: ParamKind,
    length_max: usize,
    held: Held,
    text: Vec<u8>,
}

impl Param {
    pub fn new(kind: ParamKind, length_max: usize) -> Self {
        // Until it is set a parameter is what C would have left in it: zero, or no text.
        let held = match kind {
            ParamKind::Integer => Held::Integer(0),
            ParamKind::Double => Held::Double(0.0),
            ParamKind::Text => Held::Text,
        };
        Self {
            kind,
            length_max,
            held,
            text: Vec::new(),
        }
    }

    pub fn kind(&self) -> ParamKind {
        self.kind
    }

    pub fn set_null(&mut self) {
        self.held = Held::Null;
    }

    #[inline]
    pub fn set_number(&mut self, number: f64) {
        self.held = match self.kind {
            // Fractions are cut off, as a C conversion does.
            ParamKind::Integer => Held::Integer(number as i64),
            _ => Held::Double(number),
        };
    }

    pub fn set_integer(&mut self, number: i64) {
        self.held = match self.kind {
            ParamKind::Integer => Held::Integer(number),
            _ => Held::Double(number as f64),
        };
    }

    /// Takes the text as far as the parameter is long.
    pub fn set_text(&mut self, text: &[u8]) {
        self.text.clear();
        self.text
            .extend_from_slice(text.get(..self.length_max).unwrap_or(text));
        self.held = Held::Text;
    }

    /// As [`Self::set_text`], of a text that is made in place.
    pub fn fill_text(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        self.text.clear();
        fill(&mut self.text);
        self.text.truncate(self.length_max);
        self.held = Held::Text;
    }

    #[inline]
    pub fn value(&self) -> Value<'_> {
        match self.held {
            Held::Null => Value::Null,
            Held::Integer(number) => Value::Int(number),
            Held::Double(number) => Value::Double(number),
            Held::Text => Value::Bytes(&self.text),
        }
    }
}

/// A parameter that a script describes by its own addresses, through the FFI.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RawBind {
    kind: c_int,
    buffer: *const c_void,
    length: *const c_ulong,
    length_max: c_ulong,
    is_null: *const c_char,
}

impl RawBind {
    /// Reads the value that the addresses hold now.
    ///
    /// # Safety
    /// The script promises that its addresses are valid for the kind it names, and stay so while
    /// the value is used.
    pub unsafe fn value(&self) -> Value<'static> {
        // SAFETY: as the caller promises; null addresses are checked.
        unsafe {
            if self.buffer.is_null() || (!self.is_null.is_null() && *self.is_null != 0) {
                return Value::Null;
            }
            match self.kind {
                1 => Value::Int((*self.buffer.cast::<i8>()).into()),
                2 => Value::Int(self.buffer.cast::<i16>().read_unaligned().into()),
                3 => Value::Int(self.buffer.cast::<i32>().read_unaligned().into()),
                4 => Value::Int(self.buffer.cast::<i64>().read_unaligned()),
                5 => Value::Float(self.buffer.cast::<f32>().read_unaligned()),
                6 => Value::Double(self.buffer.cast::<f64>().read_unaligned()),
                11 | 12 => {
                    let length = match self.length.is_null() {
                        true => self.length_max,
                        false => self.length.read_unaligned(),
                    };
                    Value::Bytes(std::slice::from_raw_parts(
                        self.buffer.cast(),
                        length as usize,
                    ))
                }
                _ => Value::Null,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_holds_what_its_kind_holds() {
        let mut number = Param::new(ParamKind::Integer, 0);
        assert_eq!(number.value(), Value::Int(0));
        number.set_number(-1.7);
        assert_eq!(number.value(), Value::Int(-1));
        number.set_integer(i64::MAX);
        assert_eq!(number.value(), Value::Int(i64::MAX));
        number.set_null();
        assert_eq!(number.value(), Value::Null);

        let mut double = Param::new(ParamKind::Double, 0);
        double.set_number(0.1);
        assert_eq!(double.value(), Value::Double(0.1));

        let mut text = Param::new(ParamKind::Text, 3);
        text.set_text(b"a\0bcd");
        assert_eq!(text.value(), Value::Bytes(b"a\0b"));
        text.fill_text(|to| to.extend_from_slice(b"wxyz"));
        assert_eq!(text.value(), Value::Bytes(b"wxy"));
    }

    #[test]
    fn dates_are_no_kind() {
        assert_eq!(ParamKind::from_number(3), Some(ParamKind::Integer));
        assert_eq!(ParamKind::from_number(12), Some(ParamKind::Text));
        for date in [0, 7, 8, 9, 10, 13, -1] {
            assert_eq!(ParamKind::from_number(date), None);
        }
    }

    #[test]
    fn raw_parameters_are_read_where_they_lie() {
        let (number, length) = (7i64, 2 as c_ulong);
        let null = 1 as c_char;
        let raw = |kind, buffer: *const c_void, is_null| RawBind {
            kind,
            buffer,
            length: &raw const length,
            length_max: 5,
            is_null,
        };
        let number: *const c_void = (&raw const number).cast();
        // SAFETY: the addresses are those of the variables above.
        unsafe {
            assert_eq!(raw(4, number, std::ptr::null()).value(), Value::Int(7));
            assert_eq!(raw(4, number, &raw const null).value(), Value::Null);
            assert_eq!(
                raw(12, b"abc".as_ptr().cast(), std::ptr::null()).value(),
                Value::Bytes(b"ab")
            );
            assert_eq!(
                raw(3, std::ptr::null(), std::ptr::null()).value(),
                Value::Null
            );
        }
    }
}
