//! A copy of the tables that answers as the server must: small, slow and plain.

use super::replay::{Meaning, Question};
use contend_wire::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A row but its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub k: i64,
    pub c: String,
    pub pad: String,
}

/// The rows of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableCopy {
    rows: BTreeMap<i64, Row>,
    by_k: BTreeSet<(i64, i64)>,
}

/// The correct answer of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// These rows; in this order, or in any.
    Rows {
        rows: Vec<Vec<Option<String>>>,
        ordered: bool,
    },
    /// No rows; this number of rows changed.
    Changed(u64),
    /// This error: an id that there is already.
    Duplicate,
    /// Only the server knows.
    Anything,
}

impl TableCopy {
    /// Inserts a row. False: its id is there already.
    pub fn insert(&mut self, id: i64, row: Row) -> bool {
        if self.rows.contains_key(&id) {
            return false;
        }
        self.by_k.insert((row.k, id));
        self.rows.insert(id, row);
        true
    }

    /// The ids, in order.
    pub fn ids(&self) -> impl Iterator<Item = i64> {
        self.rows.keys().copied()
    }

    /// The row of an id, as text in the order of the columns.
    pub fn row(&self, id: i64) -> Option<Vec<Option<String>>> {
        self.rows.get(&id).map(|row| whole(id, row))
    }

    /// Answers a question, and changes the copy as the server changes the table. `first_id` is
    /// the id that the server gave to the first of new rows.
    pub fn answer(&mut self, question: &Question, first_id: u64) -> Expected {
        let numbers: Vec<i64> = question.values.values().filter_map(number).collect();
        let id = numbers.first().copied().unwrap_or_default();
        let upper = numbers.get(1).copied().unwrap_or(id);
        let one = |row: Option<Vec<Option<String>>>| any_order(row.into_iter().collect());
        match question.meaning {
            Meaning::Frame => Expected::Changed(0),
            Meaning::PointSelect => one(self.rows.get(&id).map(|row| vec![Some(row.c.clone())])),
            Meaning::Points => any_order(self.points(&numbers)),
            Meaning::CountOfRanges => one(Some(vec![Some(self.count(&numbers).to_string())])),
            Meaning::SimpleRange => any_order(self.contents(id, upper)),
            Meaning::SumRange => one(Some(vec![self.sum(id, upper)])),
            Meaning::OrderRange => in_order(self.contents(id, upper)),
            Meaning::DistinctRange => {
                let mut contents = self.contents(id, upper);
                contents.sort();
                contents.dedup();
                in_order(contents)
            }
            Meaning::IndexUpdate => self.add_to_k(id),
            Meaning::NonIndexUpdate => self.set_c(question, id),
            Meaning::Delete => match self.remove(id) {
                Some(_) => Expected::Changed(1),
                None => Expected::Changed(0),
            },
            Meaning::Insert { with_ids } => self.insert_all(question, with_ids, first_id),
            Meaning::Unknown => Expected::Anything,
        }
    }

    fn points(&self, keys: &[i64]) -> Vec<Vec<Option<String>>> {
        let keys: BTreeSet<i64> = keys.iter().copied().collect();
        keys.into_iter()
            .flat_map(|k| self.by_k.range((k, i64::MIN)..=(k, i64::MAX)))
            .filter_map(|(_, id)| self.row(*id))
            .collect()
    }

    fn count(&self, bounds: &[i64]) -> usize {
        let mut found: BTreeSet<&(i64, i64)> = BTreeSet::new();
        for pair in bounds.chunks_exact(2) {
            let [low, high] = pair else { continue };
            if low <= high {
                found.extend(self.by_k.range((*low, i64::MIN)..=(*high, i64::MAX)));
            }
        }
        found.len()
    }

    fn range(&self, low: i64, high: i64) -> impl Iterator<Item = &Row> {
        // A range that ends before it begins holds nothing, and BTreeMap does not take it.
        self.rows
            .range(low..=high.max(low))
            .filter(move |_| low <= high)
            .map(|(_, row)| row)
    }

    fn contents(&self, low: i64, high: i64) -> Vec<Vec<Option<String>>> {
        self.range(low, high)
            .map(|row| vec![Some(row.c.clone())])
            .collect()
    }

    fn sum(&self, low: i64, high: i64) -> Option<String> {
        self.range(low, high)
            .map(|row| i128::from(row.k))
            .reduce(|sum, k| sum + k)
            .map(|sum| sum.to_string())
    }

    fn remove(&mut self, id: i64) -> Option<Row> {
        let row = self.rows.remove(&id)?;
        self.by_k.remove(&(row.k, id));
        Some(row)
    }

    fn add_to_k(&mut self, id: i64) -> Expected {
        let Some(row) = self.remove(id) else {
            return Expected::Changed(0);
        };
        let k = row.k.saturating_add(1);
        self.insert(id, Row { k, ..row });
        Expected::Changed(1)
    }

    /// The values are the text and, after it, the id.
    fn set_c(&mut self, question: &Question, id: i64) -> Expected {
        let text = question.values.values().find_map(text);
        match (self.rows.get_mut(&id), text) {
            (Some(row), Some(c)) if row.c != c => {
                row.c = c;
                Expected::Changed(1)
            }
            _ => Expected::Changed(0),
        }
    }

    fn insert_all(&mut self, question: &Question, with_ids: bool, first_id: u64) -> Expected {
        let values: Vec<Value<'_>> = question.values.values().collect();
        let mut count = 0;
        for new in values.chunks(if with_ids { 4 } else { 3 }) {
            let mut new = new.iter().copied();
            let id = if with_ids {
                new.next().and_then(number)
            } else {
                i64::try_from(first_id.saturating_add(count)).ok()
            };
            let row = Row {
                k: new.next().and_then(number).unwrap_or_default(),
                c: new.next().and_then(text).unwrap_or_default(),
                pad: new.next().and_then(text).unwrap_or_default(),
            };
            if !self.insert(id.unwrap_or_default(), row) {
                return Expected::Duplicate;
            }
            count += 1;
        }
        Expected::Changed(count)
    }
}

fn whole(id: i64, row: &Row) -> Vec<Option<String>> {
    let (id, k) = (id.to_string(), row.k.to_string());
    [id, k, row.c.clone(), row.pad.clone()].map(Some).into()
}

fn any_order(mut rows: Vec<Vec<Option<String>>>) -> Expected {
    rows.sort();
    Expected::Rows {
        rows,
        ordered: false,
    }
}

fn in_order(mut rows: Vec<Vec<Option<String>>>) -> Expected {
    rows.sort();
    Expected::Rows {
        rows,
        ordered: true,
    }
}

fn number(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int(number) => Some(number),
        _ => None,
    }
}

fn text(value: Value<'_>) -> Option<String> {
    match value {
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::Parameters;

    fn copy() -> TableCopy {
        let mut copy = TableCopy::default();
        for id in 1..=10 {
            let row = Row {
                k: id / 2,
                c: format!("c{}", 20 - id),
                pad: String::new(),
            };
            assert!(copy.insert(id, row));
        }
        copy
    }

    fn question(meaning: Meaning, numbers: &[i64]) -> Question {
        let mut values = Parameters::default();
        numbers.iter().for_each(|number| values.int(*number as u64));
        Question {
            meaning,
            table: 0,
            values,
        }
    }

    fn firsts(expected: Expected) -> (Vec<String>, bool) {
        match expected {
            Expected::Rows { rows, ordered } => {
                let first = |row: Vec<Option<String>>| row.into_iter().next().flatten();
                let firsts = rows.into_iter().map(|row| first(row).unwrap_or_default());
                (firsts.collect(), ordered)
            }
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn reads_are_answered() {
        let mut copy = copy();
        let mut ask =
            |meaning, numbers: &[i64]| firsts(copy.answer(&question(meaning, numbers), 0)).0;
        assert_eq!(ask(Meaning::PointSelect, &[3]), ["c17"]);
        assert!(ask(Meaning::PointSelect, &[11]).is_empty());
        // A key that is asked for twice is answered once.
        assert_eq!(ask(Meaning::Points, &[1, 4, 1]), ["2", "3", "8", "9"]);
        assert_eq!(ask(Meaning::CountOfRanges, &[1, 2, 2, 3, 9, 8]), ["6"]);
        assert_eq!(ask(Meaning::SumRange, &[2, 4]), ["4"]);
        assert_eq!(ask(Meaning::SumRange, &[20, 30]), [""]);
        assert_eq!(ask(Meaning::OrderRange, &[2, 3]), ["c17", "c18"]);
        assert_eq!(ask(Meaning::SimpleRange, &[9, 99]), ["c10", "c11"]);
    }

    #[test]
    fn writes_change_what_is_answered_after_them() {
        let mut copy = copy();
        let ask = |copy: &mut TableCopy, meaning, numbers: &[i64]| {
            copy.answer(&question(meaning, numbers), 0)
        };
        assert_eq!(
            ask(&mut copy, Meaning::IndexUpdate, &[10]),
            Expected::Changed(1)
        );
        assert_eq!(
            ask(&mut copy, Meaning::IndexUpdate, &[99]),
            Expected::Changed(0)
        );
        assert_eq!(firsts(ask(&mut copy, Meaning::Points, &[6])).0, ["10"]);
        let mut set = Parameters::default();
        set.bytes(b"new");
        set.int(10);
        let set = Question {
            meaning: Meaning::NonIndexUpdate,
            table: 0,
            values: set,
        };
        assert_eq!(copy.answer(&set, 0), Expected::Changed(1));
        assert_eq!(copy.answer(&set, 0), Expected::Changed(0));
        assert_eq!(
            firsts(ask(&mut copy, Meaning::PointSelect, &[10])).0,
            ["new"]
        );
        assert_eq!(ask(&mut copy, Meaning::Delete, &[10]), Expected::Changed(1));
        assert_eq!(ask(&mut copy, Meaning::Delete, &[10]), Expected::Changed(0));
        assert!(firsts(ask(&mut copy, Meaning::Points, &[6])).0.is_empty());
    }

    #[test]
    fn new_rows_get_the_ids_that_the_server_gave() {
        let mut copy = copy();
        let mut rows = Parameters::default();
        for k in [7, 8] {
            rows.int(k);
            rows.bytes(b"c");
            rows.bytes(b"pad");
        }
        let mut asked = Question {
            meaning: Meaning::Insert { with_ids: false },
            table: 0,
            values: rows,
        };
        assert_eq!(copy.answer(&asked, 11), Expected::Changed(2));
        assert_eq!(
            copy.row(12).and_then(|row| row.into_iter().nth(1)),
            Some(Some("8".to_owned()))
        );
        assert_eq!(copy.answer(&asked, 12), Expected::Duplicate);
        asked.meaning = Meaning::Unknown;
        assert_eq!(copy.answer(&asked, 0), Expected::Anything);
    }
}
