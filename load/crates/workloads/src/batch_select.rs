//! Several rows by their primary keys, read in one of the ways of a client.

use super::config::{EVENTS, WorkloadConfig, native};
use super::native::{Asker, Carries, EventEnd, EventResult, Kind, OpenEvent, QueryText, Way};
use super::over_tables::OverTables;
use super::rows_keys::{keys_over_rows, number};
use super::statement::Parameters;
use contend_engine::workload::{EventKind, Workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How an event reads its rows.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum SelectBy {
    /// One SELECT per row, each sent when the previous one is answered.
    #[default]
    Select,
    /// One SELECT with `id IN (…)`; a row named twice is returned once.
    In,
    /// One SELECT per row, combined by UNION ALL.
    UnionAll,
    /// One SELECT per row, all in one text; never prepared.
    MultiStatement,
    /// One SELECT per row, all sent before the first answer is read. A pipeline counts as one
    /// query.
    Pipeline,
}

impl SelectBy {
    fn name(self) -> &'static str {
        match self {
            Self::Select => "select",
            Self::In => "in",
            Self::UnionAll => "union_all",
            Self::MultiStatement => "multi_statement",
            Self::Pipeline => "pipeline",
        }
    }
}

keys_over_rows! {
    /// Several rows per event by their primary keys: `SELECT c FROM sbtest WHERE id = ?` for each.
    Keys, "batch_select", writes: false, metric: EVENTS;
    {
        /// Rows of an event.
        #[serde(default = "number::<100>")]
        #[schemars(range(min = 1, max = 10_000))]
        batch_rows: u32,
        /// How they are read.
        #[serde(default)]
        select_by: SelectBy,
    }
}

impl WorkloadConfig for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        Ok(native(OverTables::new(self.over(), self.clone()), way))
    }
}

impl Kind for OverTables<Keys> {
    type Own = ();

    fn events(&self) -> Vec<EventKind> {
        EventKind::only("batch_select", &[self.own.select_by.name()])
    }

    fn queries(&self) -> Vec<QueryText> {
        let batch = self.own.batch_rows as usize;
        let mut queries = QueryText::of_each(&self.tables, |table| {
            let one = format!("SELECT c FROM {table} WHERE id = ?");
            match self.own.select_by {
                SelectBy::Select | SelectBy::Pipeline => one,
                SelectBy::UnionAll => vec![one; batch].join(" UNION ALL "),
                SelectBy::MultiStatement => vec![one; batch].join("; "),
                SelectBy::In => {
                    let marks = vec!["?"; batch].join(", ");
                    format!("SELECT c FROM {table} WHERE id IN ({marks})")
                }
            }
        });
        for query in &mut queries {
            query.is_text = self.own.select_by == SelectBy::MultiStatement;
            if self.own.select_by == SelectBy::Pipeline {
                query.carries = Carries::Pipeline;
            }
        }
        queries
    }

    fn is_single_query(&self) -> bool {
        self.own.select_by != SelectBy::Select || self.own.batch_rows == 1
    }

    async fn event(&self, ask: &mut Asker<Self>) -> EventResult {
        let table = ask.with(|event, ()| self.tables.draw(&mut event.stream));
        let put = |rows| {
            move |event: &mut OpenEvent, values: &mut Parameters| {
                for _ in 0..rows {
                    values.int(self.keys.draw(&mut event.stream));
                }
                table
            }
        };
        if self.own.select_by != SelectBy::Select {
            return ask.ask(put(self.own.batch_rows)).last(EventEnd::Done);
        }
        for _ in 1..self.own.batch_rows {
            ask.ask(put(1)).done().await?;
        }
        ask.ask(put(1)).last(EventEnd::Done)
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

    fn kind(by: SelectBy) -> OverTables<Keys> {
        let keys = json!({"rows": 1, "batch_rows": 3, "select_by": by});
        OverTables {
            tables: Tables::new("t", None),
            keys: Sampler::new(Shape::Uniform, 7, 7),
            own: serde_json::from_value(keys).unwrap(),
        }
    }

    #[test]
    fn every_way_asks_for_the_same_rows() {
        const ONE: &str = "SELECT c FROM t WHERE id = 7";
        let asks = |by| asked(kind(by), 1, 1);
        assert_eq!(asks(SelectBy::Select), [ONE; 3]);
        assert_eq!(
            asks(SelectBy::In),
            ["SELECT c FROM t WHERE id IN (7, 7, 7)"]
        );
        assert_eq!(asks(SelectBy::UnionAll), [[ONE; 3].join(" UNION ALL ")]);
        assert_eq!(asks(SelectBy::MultiStatement), [[ONE; 3].join("; ")]);
    }

    #[test]
    fn a_pipeline_carries_a_set_of_values_for_each_request() {
        let pipeline = kind(SelectBy::Pipeline);
        assert_eq!(pipeline.queries()[0].carries, Carries::Pipeline);
        assert_eq!(pipeline.queries()[0].pieces.len(), 2);
        let mut asked = 0;
        Native::new(pipeline, Way::default()).walk(1, 0, |_, values| {
            assert_eq!(values.count(), 3);
            asked += 1;
        });
        assert_eq!(asked, 1);
    }

    #[test]
    fn the_ways_draw_the_same_keys() {
        let keys_of = |by| {
            let mut kind = kind(by);
            kind.keys = Sampler::new(Shape::Uniform, 1, 1_000_000);
            let mut keys = Vec::new();
            Native::new(kind, Way::default()).walk(5, 9, |_, values| {
                keys.extend(values.values().map(|value| format!("{value:?}")));
            });
            keys
        };
        let keys = keys_of(SelectBy::Select);
        assert_eq!(keys.len(), 3);
        for by in [
            SelectBy::In,
            SelectBy::UnionAll,
            SelectBy::MultiStatement,
            SelectBy::Pipeline,
        ] {
            assert_eq!(keys_of(by), keys, "{by:?}");
        }
    }
}
