//! Kinds whose every event is one query of one of the tables of sysbench's shape.

use super::config::Keys;
use super::native::{Asker, Carries, EventEnd, EventResult, KeyAccess, Kind, OpenEvent, QueryText};
use super::rows_keys::Over;
use super::statement::Parameters;
use super::tables::Tables;
use contend_engine::workload::EventKind;
use contend_random::Sampler;

/// The query of such a kind, which the keys of the kind describe.
pub trait OneQuery: Keys + Send + Sync {
    fn sql(&self, table: &str) -> String;

    /// How HandlerSocket asks the same; none if it cannot.
    fn key_access(&self) -> Option<KeyAccess> {
        None
    }

    fn carries(&self) -> Carries {
        Carries::One
    }

    /// Draws the values of an event's query; keys of rows come from `keys`.
    fn draw(&self, keys: &Sampler, event: &mut OpenEvent, values: &mut Parameters);
}

/// The keys of a kind, with the tables and the sampler made from them.
#[derive(Clone, Debug)]
pub struct OverTables<K> {
    pub tables: Tables,
    pub keys: Sampler,
    pub own: K,
}

impl<K> OverTables<K> {
    pub fn new(over: Over<'_>, own: K) -> Self {
        Self {
            tables: over.tables(),
            keys: over.sampler(),
            own,
        }
    }
}

impl<K: OneQuery> Kind for OverTables<K> {
    type Own = ();

    fn events(&self) -> Vec<EventKind> {
        EventKind::only(K::KIND, &[K::KIND])
    }

    fn queries(&self) -> Vec<QueryText> {
        let mut queries = QueryText::of_each(&self.tables, |table| self.own.sql(table));
        for query in &mut queries {
            query.carries = self.own.carries();
        }
        queries
    }

    fn by_key(&self, query: usize) -> Option<(&str, KeyAccess)> {
        Some((self.tables.names().get(query)?, self.own.key_access()?))
    }

    #[inline]
    async fn event(&self, ask: &mut Asker<Self>) -> EventResult {
        ask.ask(|event, values| {
            let table = self.tables.draw(&mut event.stream);
            self.own.draw(&self.keys, event, values);
            table
        })
        .last(EventEnd::Done)
    }
}
