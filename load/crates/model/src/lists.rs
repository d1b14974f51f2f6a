//! Lists about the server itself, such as its status: which rows and columns of a list a statement
//! asks for.

use super::sql::{Condition, Listed};
use contend_servers::serve::{Cell, ColumnOut, Refusal, ReplyWriter};

/// A row of a list; NULL is none.
pub type ListRow = Vec<Option<String>>;

/// A whole list, without a selection.
#[derive(Clone, Debug, Default)]
pub struct ServerList {
    pub columns: Vec<&'static str>,
    pub rows: Vec<ListRow>,
}

impl ServerList {
    /// A list of names with their values.
    pub fn of_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let rows = pairs
            .into_iter()
            .map(|(name, value)| vec![Some(name), Some(value)]);
        Self {
            columns: vec!["Variable_name", "Value"],
            rows: rows.collect(),
        }
    }

    /// Answers with the listed rows and columns.
    ///
    /// # Errors
    /// A column that the list does not have.
    pub fn answer(&self, listed: &Listed<'_>, reply: &mut ReplyWriter<'_>) -> Result<(), Refusal> {
        let place = |name: &[u8], clause: &str| {
            let named = |column: &str| name.eq_ignore_ascii_case(column.as_bytes());
            self.columns
                .iter()
                .position(|column| named(column))
                .ok_or_else(|| {
                    let name = String::from_utf8_lossy(name);
                    Refusal::new(
                        1054,
                        b"42S22",
                        format!("Unknown column '{name}' in '{clause}'"),
                    )
                })
        };
        let mut shown = Vec::new();
        for name in &listed.columns {
            shown.push(place(name, "field list")?);
        }
        if shown.is_empty() {
            shown.extend(0..self.columns.len());
        }
        let mut wanted = Vec::new();
        for condition in &listed.conditions {
            wanted.push((place(condition.column(), "where clause")?, condition));
        }
        let columns: Vec<ColumnOut> = shown
            .iter()
            .filter_map(|place| self.columns.get(*place))
            .map(|name| ColumnOut::text(name))
            .collect();
        reply.columns(&columns);
        let at = |row: &ListRow, place: usize| row.get(place).cloned().flatten();
        for row in &self.rows {
            if !wanted
                .iter()
                .all(|(place, condition)| condition.holds(at(row, *place).as_deref()))
            {
                continue;
            }
            let values: Vec<_> = shown.iter().map(|place| at(row, *place)).collect();
            let cells: Vec<_> = values.iter().map(|value| cell(value.as_deref())).collect();
            reply.row(&columns, &cells);
        }
        reply.end_of_rows();
        Ok(())
    }
}

fn cell(value: Option<&str>) -> Cell<'_> {
    value.map_or(Cell::Null, |value| Cell::Text(value.as_bytes()))
}

impl Condition<'_> {
    fn column(&self) -> &[u8] {
        match self {
            Self::In { column, .. } | Self::Like { column, .. } | Self::Null { column, .. } => {
                column
            }
        }
    }

    /// A value that is NULL satisfies only the test for NULL.
    fn holds(&self, value: Option<&str>) -> bool {
        match (self, value) {
            (Self::Null { wanted, .. }, value) => value.is_none() == *wanted,
            (_, None) => false,
            (Self::In { values, wanted, .. }, Some(value)) => {
                let is = |one: &&[u8]| one.eq_ignore_ascii_case(value.as_bytes());
                values.iter().any(is) == *wanted
            }
            (Self::Like { pattern, .. }, Some(value)) => is_like(value.as_bytes(), pattern),
        }
    }
}

/// Whether a text matches a pattern, in which `%` matches anything, `_` matches one byte, and a
/// backslash before either matches it literally. Capitals do not matter.
pub fn is_like(text: &[u8], pattern: &[u8]) -> bool {
    let (mut at, mut place) = (0, 0);
    // Where to go on if the pattern after the last % does not fit: one byte further.
    let mut again = None;
    loop {
        let step = match (pattern.get(place), pattern.get(place + 1)) {
            (Some(b'%'), _) => {
                place += 1;
                again = Some((at, place));
                continue;
            }
            (Some(b'\\'), Some(byte)) => text
                .get(at)
                .filter(|b| b.eq_ignore_ascii_case(byte))
                .map(|_| 2),
            (Some(b'_'), _) => text.get(at).map(|_| 1),
            (Some(byte), _) => text
                .get(at)
                .filter(|b| b.eq_ignore_ascii_case(byte))
                .map(|_| 1),
            (None, _) if at == text.len() => return true,
            (None, _) => None,
        };
        if let Some(step) = step {
            (at, place) = (at + 1, place + step);
            continue;
        }
        let Some((from, behind)) = again.filter(|(from, _)| *from < text.len()) else {
            return false;
        };
        (at, place) = (from + 1, behind);
        again = Some((at, place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_sql() {
        for (text, pattern, is) in [
            ("Key_reads", "Key_%", true),
            ("Key_reads", "key\\_reads", true),
            ("Keyxreads", "key\\_reads", false),
            ("Keyxreads", "key_reads", true),
            ("Threads_running", "%running", true),
            ("Threads_running", "%s_r%n%", true),
            ("Threads", "Threads_", false),
            ("", "%", true),
            ("", "", true),
            ("a", "", false),
            ("abcabd", "%abd", true),
            ("abcabd", "%abc", false),
        ] {
            assert_eq!(
                is_like(text.as_bytes(), pattern.as_bytes()),
                is,
                "{text} {pattern}"
            );
        }
    }
}
