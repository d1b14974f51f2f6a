//! Several new rows, inserted in one of the ways of a client.

use super::config::{EVENTS, WorkloadConfig, native};
use super::native::{Asker, Carries, EventEnd, EventResult, Kind, OpenEvent, QueryText, Way};
use super::over_tables::OverTables;
use super::rows_keys::{keys_over_rows, number};
use super::statement::Parameters;
use super::tables::{C, PAD};
use contend_engine::workload::{EventKind, Workload};
use contend_plan::{Load, Protocol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How an event inserts its rows.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum InsertBy {
    /// One INSERT per row, each a transaction of its own.
    #[default]
    Insert,
    /// BEGIN, one INSERT per row, COMMIT.
    Transaction,
    /// One INSERT per row, all sent before the first answer is read. A pipeline counts as one
    /// query.
    Pipeline,
    /// One INSERT of many rows.
    MultiRow,
    /// One execution of a prepared INSERT that carries all rows: MariaDB's
    /// `COM_STMT_BULK_EXECUTE`. Needs the prepared protocol.
    BulkExecute,
    /// LOAD DATA LOCAL INFILE. The server must allow it (`local_infile`).
    LoadData,
}

impl InsertBy {
    fn name(self) -> &'static str {
        match self {
            Self::Insert | Self::Transaction => "insert",
            Self::Pipeline => "pipeline",
            Self::MultiRow => "multi_row",
            Self::BulkExecute => "bulk_execute",
            Self::LoadData => "load_data",
        }
    }

    /// Each row has a request of its own, which waits for the one before.
    fn is_row_by_row(self) -> bool {
        matches!(self, Self::Insert | Self::Transaction)
    }
}

keys_over_rows! {
    /// Several new rows per event, numbered by the server.
    Keys, "batch_insert", writes: true, metric: EVENTS;
    {
        /// Rows of an event.
        #[serde(default = "number::<100>")]
        #[schemars(range(min = 1, max = 10_000))]
        batch_rows: u32,
        /// How they are inserted.
        #[serde(default)]
        insert_by: InsertBy,
    }
}

impl WorkloadConfig for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        Ok(native(OverTables::new(self.over(), self.clone()), way))
    }

    fn fit(&self, load: &mut Load) -> Result<(), String> {
        if self.insert_by == InsertBy::BulkExecute && load.protocol == Protocol::Text {
            return Err(
                "workload.insert_by: bulk_execute needs prepared statements, but load.protocol is \
                 \"text\""
                    .to_owned(),
            );
        }
        Ok(())
    }
}

const COLUMNS: u16 = 3;

/// Classes of a transaction: the INSERT is class 0.
const BEGIN: u8 = 1;
const COMMIT: u8 = 2;

impl Keys {
    fn query_of(&self, table: &str) -> QueryText {
        let rows = match self.insert_by {
            InsertBy::MultiRow => self.batch_rows as usize,
            _ => 1,
        };
        let rows = vec!["(?, ?, ?)"; rows].join(", ");
        let insert = QueryText::new(0, &format!("INSERT INTO {table} (k, c, pad) VALUES {rows}"));
        match self.insert_by {
            InsertBy::Insert | InsertBy::Transaction | InsertBy::MultiRow => insert,
            InsertBy::Pipeline => QueryText {
                carries: Carries::Pipeline,
                ..insert
            },
            InsertBy::BulkExecute => QueryText {
                carries: Carries::Bulk,
                ..insert
            },
            InsertBy::LoadData => {
                let load = format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} (k, c, pad)");
                QueryText {
                    is_text: true,
                    carries: Carries::File { columns: COLUMNS },
                    ..QueryText::new(0, &load)
                }
            }
        }
    }
}

impl Kind for OverTables<Keys> {
    type Own = ();

    fn events(&self) -> Vec<EventKind> {
        let classes: &[&str] = match self.own.insert_by {
            InsertBy::Transaction => &["insert", "begin", "commit"],
            by => &[by.name()],
        };
        EventKind::only("batch_insert", classes)
    }

    /// One for each table, then the frame of a transaction.
    fn queries(&self) -> Vec<QueryText> {
        let tables = self.tables.names().iter();
        let mut queries: Vec<QueryText> = tables.map(|table| self.own.query_of(table)).collect();
        if self.own.insert_by == InsertBy::Transaction {
            for (class, sql) in [(BEGIN, "BEGIN"), (COMMIT, "COMMIT")] {
                queries.push(QueryText {
                    is_text: true,
                    ..QueryText::new(class, sql)
                });
            }
        }
        queries
    }

    fn is_single_query(&self) -> bool {
        !self.own.insert_by.is_row_by_row()
            || (self.own.insert_by == InsertBy::Insert && self.own.batch_rows == 1)
    }

    fn leaves_transaction(&self, _event: &OpenEvent) -> bool {
        self.own.insert_by == InsertBy::Transaction
    }

    async fn event(&self, ask: &mut Asker<Self>) -> EventResult {
        let table = ask.with(|event, ()| self.tables.draw(&mut event.stream));
        let put = |rows| {
            move |event: &mut OpenEvent, values: &mut Parameters| {
                for _ in 0..rows {
                    values.int(self.keys.draw(&mut event.stream));
                    values.template(&mut event.stream, C);
                    values.template(&mut event.stream, PAD);
                }
                table
            }
        };
        let (by, rows) = (self.own.insert_by, self.own.batch_rows);
        if !by.is_row_by_row() {
            return ask.ask(put(rows)).last(EventEnd::Done);
        }
        let begin = self.tables.names().len();
        if by == InsertBy::Transaction {
            ask.ask(|_, _| begin).done().await?;
        }
        for _ in 1..rows {
            ask.ask(put(1)).done().await?;
        }
        if by != InsertBy::Transaction {
            return ask.ask(put(1)).last(EventEnd::Done);
        }
        ask.ask(put(1)).done().await?;
        ask.ask(|_, _| begin + 1).last(EventEnd::Done)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::native::Native;
    use crate::native::tests::asked;
    use crate::tables::Tables;
    use contend_random::{Sampler, Shape};
    use serde_json::json;

    fn kind(by: InsertBy) -> OverTables<Keys> {
        let keys = json!({"rows": 1, "batch_rows": 3, "insert_by": by});
        OverTables {
            tables: Tables::new("t", Some(2)),
            keys: Sampler::new(Shape::Uniform, 1, 1_000_000),
            own: serde_json::from_value(keys).unwrap(),
        }
    }

    #[test]
    fn rows_have_requests_of_their_own_or_a_common_one() {
        let firsts = |by| -> Vec<String> {
            let texts = asked(kind(by), 1, 1).into_iter();
            texts.map(|text| text.chars().take(11).collect()).collect()
        };
        assert_eq!(firsts(InsertBy::Insert), ["INSERT INTO"; 3]);
        let transaction = [
            "BEGIN",
            "INSERT INTO",
            "INSERT INTO",
            "INSERT INTO",
            "COMMIT",
        ];
        assert_eq!(firsts(InsertBy::Transaction), transaction);
        assert_eq!(firsts(InsertBy::MultiRow), ["INSERT INTO"]);
    }

    #[test]
    fn every_way_inserts_the_same_rows() {
        let rows_of = |by| {
            let mut rows = Vec::new();
            Native::new(kind(by), Way::default()).walk(5, 9, |_, values| {
                values.put_lines(3, &mut rows);
            });
            rows
        };
        let rows = rows_of(InsertBy::Insert);
        assert_eq!(rows.iter().filter(|byte| **byte == b'\n').count(), 3);
        for by in [
            InsertBy::Transaction,
            InsertBy::Pipeline,
            InsertBy::MultiRow,
            InsertBy::BulkExecute,
            InsertBy::LoadData,
        ] {
            assert!(rows_of(by) == rows, "{by:?}");
        }
    }

    #[test]
    fn bulk_execute_needs_the_prepared_protocol() {
        let told =
            |by| -> Keys { serde_json::from_value(json!({"rows": 1, "insert_by": by})).unwrap() };
        let load = json!({"connections": 1, "measure_s": 1.0});
        let mut load: Load = serde_json::from_value(load).unwrap();
        load.protocol = Protocol::Text;
        assert!(
            told("bulk_execute")
                .fit(&mut load)
                .unwrap_err()
                .contains("\"text\"")
        );
        assert!(told("load_data").fit(&mut load).is_ok());
        load.protocol = Protocol::Prepared;
        assert!(told("bulk_execute").fit(&mut load).is_ok());
    }
}
