//! Prepared statements: the execute command, with parameter types sent once.

use super::frame::put_packet;
use super::value::kind;
use crate::{Prepared, Value, WireError};

/// The command that [`PreparedStatement::execute`] writes, whose answer has binary rows.
pub const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_BULK_EXECUTE: u8 = 0xfa;

/// Flag of a bulk execute: parameter types are in it.
const BULK_TYPES: u16 = 128;
/// Marks before each value of a bulk execute.
const BULK_VALUE: u8 = 0;
const BULK_NULL: u8 = 1;

/// A statement that one connection has prepared.
///
/// Remembers the types that the server has, so that they are sent the first time and again only
/// when a value of a different type comes. NULL has no type and changes none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedStatement {
    pub id: u32,
    pub columns: u16,
    types: Box<[[u8; 2]]>,
    types_sent: bool,
}

impl PreparedStatement {
    pub fn new(prepared: Prepared) -> Self {
        Self {
            id: prepared.id,
            columns: prepared.columns,
            types: vec![[kind::VAR_STRING, 0]; usize::from(prepared.parameters)].into(),
            types_sent: false,
        }
    }

    pub fn parameters(&self) -> usize {
        self.types.len()
    }

    /// Appends COM_STMT_EXECUTE. Allocates nothing beyond the growth of `out`.
    pub fn execute(&mut self, out: &mut Vec<u8>, values: &[Value<'_>]) -> Result<(), WireError> {
        self.execute_each(out, values.iter().copied())
    }

    /// Like [`Self::execute`], for values that are not in one slice.
    #[inline]
    pub fn execute_each<'v>(
        &mut self,
        out: &mut Vec<u8>,
        values: impl ExactSizeIterator<Item = Value<'v>> + Clone,
    ) -> Result<(), WireError> {
        if values.len() != self.types.len() {
            return Err(WireError::ours(format!(
                "a statement of {} parameters is executed with {}",
                self.types.len(),
                values.len()
            )));
        }
        let start = out.len();
        if self.types_sent && self.put_values(out, values.clone()) {
            return Ok(());
        }
        // The first time, or a value of a different type has come.
        out.truncate(start);
        self.learn(values.clone());
        self.types_sent = false;
        self.put_values(out, values);
        self.types_sent = true;
        Ok(())
    }

    /// Appends the command in one pass over the values. False, and a torn command: a value is not
    /// of the type that the server has.
    #[inline]
    fn put_values<'v>(
        &self,
        out: &mut Vec<u8>,
        values: impl ExactSizeIterator<Item = Value<'v>>,
    ) -> bool {
        let mut fits = true;
        put_packet(out, 0, |out| {
            let [a, b, c, d] = self.id.to_le_bytes();
            // No cursor, and the iteration count, which is always one.
            out.extend_from_slice(&[COM_STMT_EXECUTE, a, b, c, d, 0, 1, 0, 0, 0]);
            if self.types.is_empty() {
                return;
            }
            let nulls = out.len();
            match self.types.len() {
                // The usual case in one store.
                ..=8 => out.push(0),
                types => out.resize(nulls + types.div_ceil(8), 0),
            }
            out.push(u8::from(!self.types_sent));
            if !self.types_sent {
                out.extend_from_slice(self.types.as_flattened());
            }
            for (at, (value, known)) in values.zip(&self.types).enumerate() {
                match value.announced() {
                    Some(announced) if announced == *known => value.put(out),
                    Some(_) => {
                        fits = false;
                        return;
                    }
                    None => {
                        if let Some(bits) = out.get_mut(nulls + at / 8) {
                            *bits |= 1 << (at % 8);
                        }
                    }
                }
            }
        });
        fits
    }

    /// Appends MariaDB's COM_STMT_BULK_EXECUTE: the statement once for each row of `values`, which
    /// come row after row. Needs [`super::Capabilities::MARIADB_STMT_BULK`].
    ///
    /// A parameter must have one type in all rows. The packet must fit the server's
    /// `max_allowed_packet`.
    pub fn execute_bulk<'v>(
        &mut self,
        out: &mut Vec<u8>,
        values: impl ExactSizeIterator<Item = Value<'v>> + Clone,
    ) -> Result<(), WireError> {
        let parameters = self.types.len();
        if parameters == 0 || values.len() == 0 || !values.len().is_multiple_of(parameters) {
            return Err(WireError::ours(format!(
                "a bulk execute of {} values for {parameters} parameters",
                values.len()
            )));
        }
        let rebind = self.learn(values.clone()) || !self.types_sent;
        // A type that has to be learnt again in a second pass was not the same in all rows.
        if rebind && self.learn(values.clone()) {
            self.types_sent = false;
            return Err(WireError::ours(
                "a bulk execute with two types for one parameter",
            ));
        }
        put_packet(out, 0, |out| {
            out.push(COM_STMT_BULK_EXECUTE);
            out.extend_from_slice(&self.id.to_le_bytes());
            let flags = if rebind { BULK_TYPES } else { 0 };
            out.extend_from_slice(&flags.to_le_bytes());
            if rebind {
                out.extend_from_slice(self.types.as_flattened());
            }
            for value in values {
                match value {
                    Value::Null => out.push(BULK_NULL),
                    value => {
                        out.push(BULK_VALUE);
                        value.put(out);
                    }
                }
            }
        });
        self.types_sent = true;
        Ok(())
    }

    /// Takes over the types of the values, one row or several; true if one is new.
    fn learn<'v>(&mut self, values: impl Iterator<Item = Value<'v>>) -> bool {
        let mut changed = false;
        let parameters = self.types.len();
        for (at, value) in values.enumerate() {
            if let Some(announced) = value.announced()
                && let Some(known) = self.types.get_mut(at % parameters.max(1))
                && *known != announced
            {
                *known = announced;
                changed = true;
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn statement(parameters: u16) -> PreparedStatement {
        PreparedStatement::new(Prepared {
            id: 7,
            columns: 1,
            parameters,
        })
    }

    #[test]
    fn types_are_sent_once_and_again_when_they_change() {
        let mut statement = statement(2);
        let mut out = Vec::new();
        statement
            .execute(&mut out, &[Value::Int(5), Value::Null])
            .unwrap();
        assert_eq!(
            out,
            b"\x18\0\0\0\x17\x07\0\0\0\0\x01\0\0\0\x02\x01\x08\0\xfd\0\x05\0\0\0\0\0\0\0"
        );
        out.clear();
        statement
            .execute(&mut out, &[Value::Int(6), Value::Bytes(b"ab")])
            .unwrap();
        assert_eq!(
            out,
            b"\x17\0\0\0\x17\x07\0\0\0\0\x01\0\0\0\0\0\x06\0\0\0\0\0\0\0\x02ab"
        );
        out.clear();
        statement
            .execute(&mut out, &[Value::Double(1.0), Value::Null])
            .unwrap();
        assert_eq!(out.get(15..20).unwrap(), b"\x01\x05\0\xfd\0");
    }

    #[test]
    fn a_statement_without_parameters_has_no_bitmap() {
        let mut out = Vec::new();
        statement(0).execute(&mut out, &[]).unwrap();
        assert_eq!(out, b"\x0a\0\0\0\x17\x07\0\0\0\0\x01\0\0\0");
    }

    #[test]
    fn a_bulk_execute_marks_each_value() {
        let mut statement = statement(2);
        let mut out = Vec::new();
        const ROWS: [Value<'_>; 4] = [
            Value::Int32(1),
            Value::Bytes(b"a"),
            Value::Int32(2),
            Value::Null,
        ];
        const TWO: [Value<'_>; 4] = [Value::Int32(1), Value::Null, Value::Int(2), Value::Null];
        let values = |rows: &'static [Value<'static>]| rows.iter().copied();
        statement.execute_bulk(&mut out, values(&ROWS)).unwrap();
        assert_eq!(
            out,
            b"\x19\0\0\0\xfa\x07\0\0\0\x80\0\x03\0\xfd\0\
              \0\x01\0\0\0\0\x01a\0\x02\0\0\0\x01"
        );
        out.clear();
        let first = values(&ROWS[..2]);
        statement.execute_bulk(&mut out, first).unwrap();
        assert_eq!(out, b"\x0f\0\0\0\xfa\x07\0\0\0\0\0\0\x01\0\0\0\0\x01a");
        for wrong in [&TWO[..], &ROWS[..3], &[]] {
            assert!(statement.execute_bulk(&mut out, values(wrong)).is_err());
        }
    }

    #[test]
    fn a_wrong_count_is_ours_and_writes_nothing() {
        let mut out = Vec::new();
        let error = statement(2).execute(&mut out, &[Value::Null]).unwrap_err();
        assert!(matches!(error, WireError::Ours(_)) && out.is_empty());
    }

    #[test]
    fn the_null_bitmap_has_a_byte_for_eight() {
        let mut out = Vec::new();
        let mut values = [Value::Null; 9];
        values[3] = Value::Int32(1);
        statement(9).execute(&mut out, &values).unwrap();
        assert_eq!(out.get(14..17), Some(&b"\xf7\x01\x01"[..]));
    }

    #[test]
    fn a_warm_execute_reuses_the_buffer() {
        let mut statement = statement(3);
        let mut out = Vec::with_capacity(256);
        let place = out.as_ptr();
        for n in 0..100 {
            out.clear();
            statement
                .execute(
                    &mut out,
                    &[Value::Int(n), Value::UInt(9), Value::Bytes(b"x")],
                )
                .unwrap();
        }
        assert_eq!(out.as_ptr(), place);
    }
}
