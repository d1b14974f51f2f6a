//! sysbench's OLTP transactions, and their parts as separate workloads.

use super::native::{
    Asker, EventEnd, EventResult, KeyAccess, Kind, LastQuestion, OpenEvent, QueryText,
};
use super::statement::Parameters;
use super::tables::{C, PAD, Tables};
use contend_engine::workload::EventKind;
use contend_random::Sampler;

/// One kind of statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OltpPart {
    Begin,
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    /// Inserts the row that the preceding delete removed.
    Insert,
    Commit,
}

impl OltpPart {
    pub fn name(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::PointSelect => "point_select",
            Self::SimpleRange => "simple_range",
            Self::SumRange => "sum_range",
            Self::OrderRange => "order_range",
            Self::DistinctRange => "distinct_range",
            Self::IndexUpdate => "index_update",
            Self::NonIndexUpdate => "non_index_update",
            Self::Delete => "delete",
            Self::Insert => "insert",
            Self::Commit => "commit",
        }
    }

    fn sql(self, table: &str) -> String {
        match self {
            Self::Begin => "BEGIN".to_owned(),
            Self::Commit => "COMMIT".to_owned(),
            Self::PointSelect => format!("SELECT c FROM {table} WHERE id = ?"),
            Self::SimpleRange => format!("SELECT c FROM {table} WHERE id BETWEEN ? AND ?"),
            Self::SumRange => format!("SELECT SUM(k) FROM {table} WHERE id BETWEEN ? AND ?"),
            Self::OrderRange => {
                format!("SELECT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c")
            }
            Self::DistinctRange => {
                format!("SELECT DISTINCT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c")
            }
            Self::IndexUpdate => format!("UPDATE {table} SET k = k + 1 WHERE id = ?"),
            Self::NonIndexUpdate => format!("UPDATE {table} SET c = ? WHERE id = ?"),
            Self::Delete => format!("DELETE FROM {table} WHERE id = ?"),
            Self::Insert => format!("INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)"),
        }
    }

    /// It belongs to no table and cannot be prepared everywhere.
    fn is_frame(self) -> bool {
        matches!(self, Self::Begin | Self::Commit)
    }
}

/// The parts of one event, in order, over some tables.
#[derive(Clone, Debug)]
pub struct Oltp {
    name: &'static str,
    tables: Tables,
    keys: Sampler,
    range_size: u64,
    steps: Vec<OltpPart>,
    /// The different parts, in the order of their first use.
    kinds: Vec<OltpPart>,
    is_transaction: bool,
}

impl Oltp {
    /// Events of this name and these parts.
    pub fn new(
        name: &'static str,
        tables: Tables,
        keys: Sampler,
        range_size: u64,
        steps: Vec<OltpPart>,
    ) -> Self {
        let mut kinds = Vec::new();
        for part in &steps {
            if !kinds.contains(part) {
                kinds.push(*part);
            }
        }
        let is_transaction = kinds.contains(&OltpPart::Begin);
        Self {
            name,
            tables,
            keys,
            range_size,
            steps,
            kinds,
            is_transaction,
        }
    }
}

/// Reading parts, with their number per kind.
pub fn reads(points: u32, simple: u32, sum: u32, order: u32, distinct: u32) -> Vec<OltpPart> {
    [
        several(OltpPart::PointSelect, points),
        several(OltpPart::SimpleRange, simple),
        several(OltpPart::SumRange, sum),
        several(OltpPart::OrderRange, order),
        several(OltpPart::DistinctRange, distinct),
    ]
    .concat()
}

/// Writing parts, with their number per kind.
pub fn writes(index: u32, non_index: u32, delete_inserts: u32) -> Vec<OltpPart> {
    let pairs = [OltpPart::Delete, OltpPart::Insert].repeat(delete_inserts as usize);
    [
        several(OltpPart::IndexUpdate, index),
        several(OltpPart::NonIndexUpdate, non_index),
        pairs,
    ]
    .concat()
}

/// These parts, as one transaction where that is wanted.
pub fn framed(transaction: bool, parts: Vec<OltpPart>) -> Vec<OltpPart> {
    if !transaction {
        return parts;
    }
    [vec![OltpPart::Begin], parts, vec![OltpPart::Commit]].concat()
}

fn several(part: OltpPart, count: u32) -> Vec<OltpPart> {
    vec![part; count as usize]
}

impl Kind for Oltp {
    type Own = ();

    fn events(&self) -> Vec<EventKind> {
        let classes: Vec<_> = self.kinds.iter().map(|part| part.name()).collect();
        EventKind::only(self.name, &classes)
    }

    /// For each table the different parts in order.
    fn queries(&self) -> Vec<QueryText> {
        let mut queries = Vec::new();
        for table in self.tables.names() {
            for (class, part) in self.kinds.iter().enumerate() {
                let mut query = QueryText::new(class as u8, &part.sql(table));
                query.is_text = part.is_frame();
                queries.push(query);
            }
        }
        queries
    }

    fn is_single_query(&self) -> bool {
        self.steps.len() == 1
    }

    fn leaves_transaction(&self, _event: &OpenEvent) -> bool {
        self.is_transaction
    }

    fn by_key(&self, query: usize) -> Option<(&str, KeyAccess)> {
        let parts = self.kinds.len().max(1);
        let access = match self.kinds.get(query % parts)? {
            OltpPart::PointSelect => KeyAccess::PointSelect,
            OltpPart::NonIndexUpdate => KeyAccess::NonIndexUpdate,
            _ => return None,
        };
        Some((self.tables.names().get(query / parts)?, access))
    }

    async fn event(&self, ask: &mut Asker<Self>) -> EventResult {
        let Some((last, steps)) = self.steps.split_last() else {
            return Ok(LastQuestion::End(EventEnd::Done));
        };
        // The table of the part before: an insert goes to that of its delete.
        let mut table = 0;
        for part in steps {
            ask.ask(|event, values| self.put(*part, &mut table, event, values))
                .done()
                .await?;
        }
        ask.ask(|event, values| self.put(*last, &mut table, event, values))
            .last(EventEnd::Done)
    }
}

impl Oltp {
    /// Draws and puts the values of a part. Returns its query.
    fn put(
        &self,
        part: OltpPart,
        table: &mut usize,
        event: &mut OpenEvent,
        values: &mut Parameters,
    ) -> usize {
        let kind = self.kinds.iter().position(|kind| *kind == part);
        let kind = kind.unwrap_or(0);
        if part.is_frame() {
            return kind;
        }
        let stream = &mut event.stream;
        if part != OltpPart::Insert {
            *table = self.tables.draw(stream);
            event.key = self.keys.draw(stream);
        }
        match part {
            OltpPart::SimpleRange
            | OltpPart::SumRange
            | OltpPart::OrderRange
            | OltpPart::DistinctRange => {
                let more = self.range_size.saturating_sub(1);
                values.ints([event.key, event.key.saturating_add(more)]);
            }
            OltpPart::NonIndexUpdate => {
                values.template(stream, C);
                values.int(event.key);
            }
            OltpPart::Insert => {
                values.ints([event.key, self.keys.draw(stream)]);
                values.template(stream, C);
                values.template(stream, PAD);
            }
            OltpPart::PointSelect
            | OltpPart::IndexUpdate
            | OltpPart::Delete
            | OltpPart::Begin
            | OltpPart::Commit => values.int(event.key),
        }
        *table * self.kinds.len() + kind
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::native::tests::asked;
    use contend_random::Shape;

    fn oltp(parts: Vec<OltpPart>, tables: Option<u32>) -> Oltp {
        let keys = Sampler::new(Shape::Uniform, 1, 1000);
        Oltp::new(
            "read_write",
            Tables::new("sbtest", tables),
            keys,
            100,
            framed(true, parts),
        )
    }

    #[test]
    fn a_read_write_event_has_twenty_statements() {
        let texts = asked(
            oltp([reads(10, 1, 1, 1, 1), writes(1, 1, 1)].concat(), None),
            1,
            1,
        );
        assert_eq!(texts.len(), 20);
        assert_eq!((texts[0].as_str(), texts[19].as_str()), ("BEGIN", "COMMIT"));
        assert_eq!(
            texts
                .iter()
                .filter(|t| t.starts_with("SELECT c FROM sbtest WHERE id ="))
                .count(),
            10
        );
        assert_eq!(texts.iter().filter(|t| t.contains("BETWEEN")).count(), 4);
        let id = texts[17]
            .strip_prefix("DELETE FROM sbtest WHERE id = ")
            .unwrap();
        let insert = format!("INSERT INTO sbtest (id, k, c, pad) VALUES ({id}, ");
        assert!(texts[18].starts_with(&insert), "{}", texts[18]);
    }

    #[test]
    fn reads_and_writes_alone_have_their_parts() {
        assert_eq!(asked(oltp(reads(10, 1, 1, 1, 1), None), 1, 1).len(), 16);
        assert_eq!(asked(oltp(writes(1, 1, 1), None), 1, 1).len(), 6);
        assert_eq!(framed(false, reads(2, 0, 1, 1, 1)).len(), 5);
    }

    #[test]
    fn ranges_have_their_size() {
        let texts = asked(oltp(reads(10, 1, 1, 1, 1), None), 1, 1);
        let range = texts.iter().find(|text| text.contains("SUM(k)")).unwrap();
        let ends: Vec<u64> = range
            .split(' ')
            .filter_map(|word| word.parse().ok())
            .collect();
        assert_eq!(ends[1] - ends[0], 99);
    }

    #[test]
    fn a_delete_and_its_insert_meet_in_one_of_several_tables() {
        let kind = oltp(writes(1, 1, 1), Some(5));
        let mut seen = std::collections::HashSet::new();
        for event in asked(kind, 3, 50).chunks(6) {
            let table = |text: &str| text.split(' ').nth(2).unwrap().to_owned();
            assert_eq!(table(&event[3]), table(&event[4]), "{event:?}");
            seen.insert(table(&event[3]));
        }
        assert_eq!(seen.len(), 5);
    }
}
