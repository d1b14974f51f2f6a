//! The schema `test_data`: the table of a study of warming the buffer pool, with two strings per
//! row, see [`contend_random::row_strings`].

use super::content::{Appended, Content, Lines};
use super::schema::{Dataset, Filling, Wish};
use super::table::{Definition, Table, names};
use contend_random::row_strings::{LONGEST, SHORTEST, STEP, number_of, string};
use serde::Deserialize;
use std::ops::Range;
use std::sync::Arc;

const TABLE: Definition = Definition {
    name: "test_data",
    body: &[
        "id INT NOT NULL AUTO_INCREMENT",
        "random_str VARCHAR(255)",
        "random_str2 VARCHAR(255)",
        "PRIMARY KEY (id)",
        "KEY random_str (random_str)",
    ],
    has_nulls: false,
    row_bytes: 190,
};

/// Keys of this schema alone.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Keys {
    /// Characters of each string. The length in the study was not published.
    string_length: usize,
}

impl Default for Keys {
    fn default() -> Self {
        Self { string_length: 36 }
    }
}

/// The table.
///
/// # Errors
/// No number of rows, one that an INT cannot count or that is a multiple of the step, or an
/// impossible length of strings.
pub fn dataset(wish: &Wish<'_>) -> Result<Dataset, String> {
    let Keys { string_length } = wish.own_keys()?;
    let Some(rows) = wish.rows else {
        return Err("set the rows of the table with --rows N".to_owned());
    };
    if rows > i32::MAX as u64 || rows.is_multiple_of(STEP) {
        return Err(format!(
            "--rows: test_data cannot have {rows} rows; use at most {}, not a multiple of {STEP}",
            i32::MAX
        ));
    }
    if !(SHORTEST..=LONGEST).contains(&string_length) {
        return Err(format!(
            "--with: string_length {string_length} is not between {SHORTEST} and {LONGEST}"
        ));
    }
    let mut table = Table::defined(&TABLE, &[], wish.engine.clone(), wish.table_options)?;
    if !["CHARSET", "CHARACTER SET", "COLLATE"]
        .iter()
        .any(|word| names(&table.options, word))
    {
        table.own_options = vec!["CHARSET=latin1".to_owned()];
    }
    Ok(Dataset {
        name: "test_data",
        tables: vec![Filling {
            table,
            content: Arc::new(TestDataRows {
                rows,
                string_length,
            }),
        }],
        finish: Vec::new(),
        facts: vec![
            ("rows", rows.to_string()),
            ("string_length", string_length.to_string()),
        ],
        facts_stay: false,
    })
}

/// The rows, from 0.
#[derive(Debug)]
struct TestDataRows {
    rows: u64,
    string_length: usize,
}

impl Content for TestDataRows {
    fn numbers(&self) -> Range<u64> {
        0..self.rows
    }

    fn count(&self) -> u64 {
        self.rows
    }

    fn bytes_max(&self) -> usize {
        SHORTEST + 2 * LONGEST + 3
    }

    fn append(&self, out: &mut Vec<u8>, numbers: Range<u64>) -> Appended {
        let mut lines = Lines::new(out);
        for id in numbers.map(|number| number + 1) {
            let number = number_of(id, self.rows);
            lines.number(id);
            for text in [string(number, number), string(number, number + self.rows)] {
                lines.text(text.get(..self.string_length).unwrap_or(&text));
            }
            lines.end();
        }
        lines.appended()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::StorageEngine;
    use serde_json::json;

    fn wish(rows: Option<u64>) -> Wish<'static> {
        Wish {
            rows,
            ..Wish::of(1, StorageEngine::InnoDb)
        }
    }

    #[test]
    fn a_row_is_what_a_query_computes() {
        let dataset = dataset(&wish(Some(1000))).unwrap();
        let mut out = Vec::new();
        let appended = dataset.tables[0].content.append(&mut out, 0..1);
        assert_eq!(appended.rows, 1);
        // RPAD(LPAD(788, 10, '0'), 36, SHA2(788, 256))
        let line = String::from_utf8(out).unwrap();
        assert!(line.starts_with("1\t0000000788"), "{line}");
        let fields: Vec<&str> = line.trim_end().split('\t').collect();
        assert_eq!(fields[1].as_bytes(), &string(788, 788)[..36]);
        assert_ne!(fields[1], fields[2]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for rows in [None, Some(STEP), Some(1 << 31)] {
            assert!(dataset(&wish(rows)).is_err());
        }
        for length in [9, 75] {
            let mut wish = wish(Some(10));
            wish.keys.insert("string_length".to_owned(), json!(length));
            assert!(dataset(&wish).is_err());
        }
    }
}
