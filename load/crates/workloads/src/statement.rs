//! A query with `?` marks and the values to put there, as text or as a prepared statement.

use contend_random::Stream;
use contend_wire::mysql;
use contend_wire::mysql::command;
use contend_wire::{Prepared, Value, WireError};
use std::io::Write as _;
use std::sync::Arc;

/// The values of one request, in order. Kept and reused, so asking allocates nothing.
#[derive(Debug, Default)]
pub struct Parameters {
    values: Vec<Parameter>,
    text: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum Parameter {
    Int(i64),
    Double(f64),
    /// A stretch of the common text.
    Text {
        start: usize,
        end: usize,
    },
    /// Likewise, the digits of a decimal number.
    Decimal {
        start: usize,
        end: usize,
    },
    Null,
}

impl Parameters {
    pub fn clear(&mut self) {
        self.values.clear();
        self.text.clear();
    }

    /// A whole number. Keys over the signed range are the same 64 bits.
    #[inline]
    pub fn int(&mut self, value: u64) {
        self.values.push(Parameter::Int(value as i64));
    }

    /// Several whole numbers.
    #[inline]
    pub fn ints<const N: usize>(&mut self, values: [u64; N]) {
        let values = values.map(|value| Parameter::Int(value as i64));
        self.values.extend(values);
    }

    pub fn double(&mut self, value: f64) {
        self.values.push(Parameter::Double(value));
    }

    pub fn null(&mut self) {
        self.values.push(Parameter::Null);
    }

    /// Random text by a template, see [`Stream::fill_template`].
    pub fn template(&mut self, stream: &mut Stream, template: &[u8]) {
        let start = self.text.len();
        stream.fill_template(template, &mut self.text);
        self.values.push(Parameter::Text {
            start,
            end: self.text.len(),
        });
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.written(|out| out.extend_from_slice(bytes));
    }

    /// The text that `write` appends.
    pub fn written(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.text.len();
        write(&mut self.text);
        self.values.push(Parameter::Text {
            start,
            end: self.text.len(),
        });
    }

    /// An amount of money, as a decimal number with two digits after the point.
    pub fn cents(&mut self, cents: i64) {
        let start = self.text.len();
        put_cents(&mut self.text, cents);
        self.values.push(Parameter::Decimal {
            start,
            end: self.text.len(),
        });
    }

    /// Number of values.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    fn value(&self, parameter: Parameter) -> Value<'_> {
        match parameter {
            Parameter::Int(value) => Value::Int(value),
            Parameter::Double(value) => Value::Double(value),
            Parameter::Text { start, end } => {
                Value::Bytes(self.text.get(start..end).unwrap_or_default())
            }
            Parameter::Decimal { start, end } => {
                Value::Decimal(self.text.get(start..end).unwrap_or_default())
            }
            Parameter::Null => Value::Null,
        }
    }

    /// The values, in order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = Value<'_>> + Clone {
        self.of(&self.values)
    }

    /// As many values at a time.
    fn sets(
        &self,
        values: usize,
    ) -> impl Iterator<Item = impl ExactSizeIterator<Item = Value<'_>> + Clone> {
        self.values
            .chunks(values.max(1))
            .map(move |set| self.of(set))
    }

    fn of<'a>(
        &'a self,
        parameters: &'a [Parameter],
    ) -> impl ExactSizeIterator<Item = Value<'a>> + Clone {
        parameters.iter().map(|parameter| self.value(*parameter))
    }

    /// Appends the values as lines of `columns` columns, as LOAD DATA reads them by default.
    pub fn put_lines(&self, columns: usize, out: &mut Vec<u8>) {
        for line in self.sets(columns) {
            for (place, value) in line.enumerate() {
                if place > 0 {
                    out.push(b'\t');
                }
                put_field(out, value);
            }
            out.push(b'\n');
        }
    }
}

/// One query of a session. Copies share its text.
#[derive(Clone, Debug)]
pub struct Statement {
    text: Arc<SqlPieces>,
    /// The server's statement, if it was prepared on the present connection.
    prepared: Option<mysql::PreparedStatement>,
}

#[derive(Debug)]
struct SqlPieces {
    sql: String,
    /// The text between the marks, one piece more than there are marks.
    pieces: Box<[String]>,
}

impl Statement {
    /// A statement of this text between its values. The text may hold other `?`, as data.
    pub fn new(pieces: Vec<String>) -> Self {
        let text = SqlPieces {
            sql: pieces.join("?"),
            pieces: pieces.into(),
        };
        Self {
            text: Arc::new(text),
            prepared: None,
        }
    }

    /// Number of values that it takes.
    pub fn marks(&self) -> usize {
        self.text.pieces.len() - 1
    }

    /// The text with its marks.
    pub fn sql(&self) -> &str {
        &self.text.sql
    }

    /// Appends the command that prepares it.
    pub fn put_prepare(&self, out: &mut Vec<u8>) {
        command::prepare(out, self.text.sql.as_bytes());
    }

    /// It was prepared on the present connection.
    pub fn set_prepared(&mut self, prepared: Prepared) {
        self.prepared = Some(mysql::PreparedStatement::new(prepared));
    }

    pub fn is_prepared(&self) -> bool {
        self.prepared.is_some()
    }

    /// The connection it was prepared on is gone.
    pub fn forget(&mut self) {
        self.prepared = None;
    }

    /// Appends the request with these values: an execution where it was prepared, else text.
    #[inline]
    pub fn put(&mut self, out: &mut Vec<u8>, parameters: &Parameters) -> Result<(), WireError> {
        if let Some(prepared) = &mut self.prepared {
            return prepared.execute_each(out, parameters.values());
        }
        command::query_with(out, |out| self.put_text(out, parameters.values()));
        Ok(())
    }

    /// Number of sets of values.
    pub fn sets(&self, parameters: &Parameters) -> u32 {
        (parameters.count() / self.marks().max(1)) as u32
    }

    /// Appends a request for each set of these values.
    pub fn put_each(
        &mut self,
        out: &mut Vec<u8>,
        parameters: &Parameters,
    ) -> Result<(), WireError> {
        for set in parameters.sets(self.marks()) {
            match &mut self.prepared {
                Some(prepared) => prepared.execute_each(out, set)?,
                None => command::query_with(out, |out| self.put_text(out, set)),
            }
        }
        Ok(())
    }

    /// Appends one execution with all sets of these values. The text protocol has no such request.
    pub fn put_in_bulk(
        &mut self,
        out: &mut Vec<u8>,
        parameters: &Parameters,
    ) -> Result<(), WireError> {
        match &mut self.prepared {
            Some(prepared) => prepared.execute_bulk(out, parameters.values()),
            None => Err(WireError::ours(
                "a bulk execute of a statement that could not be prepared",
            )),
        }
    }

    /// Appends the query as text.
    fn put_text<'v>(&self, out: &mut Vec<u8>, mut values: impl Iterator<Item = Value<'v>>) {
        for (place, piece) in self.text.pieces.iter().enumerate() {
            if place > 0 {
                put_literal(out, values.next().unwrap_or(Value::Null));
            }
            out.extend_from_slice(piece.as_bytes());
        }
    }

    /// The query as text, for a report.
    pub fn text(&self, parameters: &Parameters) -> String {
        let mut text = Vec::new();
        self.put_text(&mut text, parameters.values());
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// Whether every server can prepare it. Others go as text, with their values written in.
pub fn can_be_prepared(statement: &str) -> bool {
    let words = [
        "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "CALL", "WITH", "DO",
    ];
    contend_sql::begins_with(statement.as_bytes(), &words)
}

/// Whether it only reads or writes rows: it leaves no open transaction behind, and no variable.
pub fn only_touches_rows(statement: &str) -> bool {
    let words = ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"];
    contend_sql::begins_with(statement.as_bytes(), &words)
}

/// Appends an amount of cents in units of a hundred: `-12.05`.
pub fn put_cents(out: &mut Vec<u8>, cents: i64) {
    let (whole, rest) = (cents.unsigned_abs() / 100, cents.unsigned_abs() % 100);
    if cents < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(itoa::Buffer::new().format(whole).as_bytes());
    out.extend_from_slice(&[b'.', b'0' + (rest / 10) as u8, b'0' + (rest % 10) as u8]);
}

/// The cents of a decimal number from a server; digits after the second are cut off.
pub fn cents_of(value: Value<'_>) -> i64 {
    let Value::Bytes(digits) = value else {
        return value.as_int().unwrap_or(0).saturating_mul(100);
    };
    let mut parts = digits.split(|byte| *byte == b'.');
    let (whole, behind) = (parts.next().unwrap_or_default(), parts.next());
    let is_negative = whole.first() == Some(&b'-');
    let behind = behind.unwrap_or_default().iter().chain(b"00").take(2);
    let cents = whole
        .iter()
        .chain(behind)
        .filter(|byte| byte.is_ascii_digit());
    let cents = cents.fold(0_i64, |sum, digit| {
        sum.saturating_mul(10).saturating_add((digit - b'0').into())
    });
    if is_negative { -cents } else { cents }
}

/// Appends a value as a literal of SQL.
pub fn put_literal(out: &mut Vec<u8>, value: Value<'_>) {
    let mut digits = itoa::Buffer::new();
    // Writing to memory does not fail. The exponent makes it a double for the server.
    let _ = match value {
        Value::Int(number) => out.write_all(digits.format(number).as_bytes()),
        Value::Int32(number) => out.write_all(digits.format(number).as_bytes()),
        Value::UInt(number) => out.write_all(digits.format(number).as_bytes()),
        Value::Float(number) => write!(out, "{number:e}"),
        Value::Double(number) => write!(out, "{number:e}"),
        Value::Decimal(digits) => out.write_all(digits),
        Value::Bytes(bytes) => return put_quoted(out, bytes),
        // No value that we send is a date or a time.
        Value::Null | Value::Date(_) | Value::Time(_) => out.write_all(b"NULL"),
    };
}

/// Appends a value as a field of a file. Bytes that would end it or its line are escaped by `\`.
fn put_field(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Bytes(bytes) => {
            for &byte in bytes {
                if matches!(byte, b'\t' | b'\n' | b'\\') {
                    out.push(b'\\');
                }
                out.push(byte);
            }
        }
        Value::Null => out.extend_from_slice(b"\\N"),
        number => put_literal(out, number),
    }
}

/// Appends a quoted string that means these bytes. Doubled quotes work in every SQL mode; with
/// the backslash doubled too it is right wherever backslashes escape, which is the default.
fn put_quoted(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'\'');
    for &byte in bytes {
        if byte == b'\'' || byte == b'\\' {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(sql: &str) -> Statement {
        Statement::new(sql.split('?').map(str::to_owned).collect())
    }

    fn text_of(fill: impl FnOnce(&mut Parameters)) -> String {
        let mut parameters = Parameters::default();
        fill(&mut parameters);
        let marks = vec!["?"; parameters.count()].join(",");
        of(&format!("CALL p({marks})")).text(&parameters)
    }

    #[test]
    fn numbers_become_literals() {
        let text = text_of(|p| {
            for value in [0, 7, 1234567890, i64::MAX as u64, i64::MIN as u64, u64::MAX] {
                p.int(value);
            }
        });
        assert_eq!(
            text,
            "CALL p(0,7,1234567890,9223372036854775807,-9223372036854775808,-1)"
        );
        assert_eq!(text_of(|p| p.double(0.25)), "CALL p(2.5e-1)");
        assert_eq!(text_of(Parameters::null), "CALL p(NULL)");
    }

    #[test]
    fn cents_are_decimal_numbers_there_and_back() {
        for (cents, text) in [
            (0, "0.00"),
            (7, "0.07"),
            (-1205, "-12.05"),
            (-5, "-0.05"),
            (500_000, "5000.00"),
        ] {
            assert_eq!(text_of(|p| p.cents(cents)), format!("CALL p({text})"));
            assert_eq!(cents_of(Value::Bytes(text.as_bytes())), cents);
        }
        for (text, cents) in [("3", 300), ("3.5", 350), ("1.239", 123), ("-0.5", -50)] {
            assert_eq!(cents_of(Value::Bytes(text.as_bytes())), cents);
        }
        assert_eq!(cents_of(Value::Int(3)), 300);
        assert_eq!(cents_of(Value::Null), 0);
    }

    #[test]
    fn quotes_and_backslashes_cannot_end_a_string() {
        assert_eq!(
            text_of(|p| p.bytes(br"it's \ here")),
            r"CALL p('it''s \\ here')"
        );
    }

    #[test]
    fn sets_of_values_go_one_by_one_or_as_lines() {
        let mut parameters = Parameters::default();
        for value in [1, 2, 3, 4] {
            parameters.int(value);
        }
        let mut statement = of("DO ?, ?");
        let mut out = Vec::new();
        assert_eq!(statement.sets(&parameters), 2);
        statement.put_each(&mut out, &parameters).unwrap();
        assert_eq!(out, b"\x08\0\0\0\x03DO 1, 2\x08\0\0\0\x03DO 3, 4");
        parameters.clear();
        parameters.int(5);
        parameters.bytes(b"a\tb\\c");
        parameters.null();
        parameters.double(0.5);
        out.clear();
        parameters.put_lines(2, &mut out);
        assert_eq!(out, b"5\ta\\\tb\\\\c\n\\N\t5e-1\n");
    }

    #[test]
    fn a_prepared_statement_is_executed_and_forgotten_with_its_connection() {
        let mut statement = of("SELECT ?");
        let mut parameters = Parameters::default();
        parameters.int(5);
        statement.set_prepared(Prepared {
            id: 9,
            columns: 1,
            parameters: 1,
        });
        let mut out = Vec::new();
        statement.put(&mut out, &parameters).unwrap();
        assert_eq!(out.get(4), Some(&0x17));
        statement.forget();
        out.clear();
        statement.put(&mut out, &parameters).unwrap();
        assert_eq!(out.get(4..), Some(&b"\x03SELECT 5"[..]));
    }

    #[test]
    fn text_may_hold_question_marks_that_are_no_marks() {
        let statement = Statement::new(vec!["SELECT '?', ".into(), String::new()]);
        let mut parameters = Parameters::default();
        parameters.int(1);
        assert_eq!(statement.text(&parameters), "SELECT '?', 1");
        assert_eq!(statement.marks(), 1);
    }
}
