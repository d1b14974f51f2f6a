//! A list of statements, asked in order: one an event.

use super::native::{Event, Heard, Kind, Next, Own, Query, Way};
use super::sql::can_be_prepared;
use super::statement::Parameters;
use super::told::{self, Told, native};
use super::{CLASSES_MAX, EventKind, Seat, Workload};
use crate::plan::{Arrival, Load};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

const STATEMENTS_MAX: usize = 100_000;

/// The next of a list of statements; each connection asks all of them in order.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// The statements.
    statements: Vec<String>,
    /// How often the whole list is asked; the run ends then. Absent: until its time is over.
    #[serde(default)]
    #[schemars(range(min = 1))]
    times: Option<u64>,
    /// All connections share one list: the next statement goes to whichever is free first.
    #[serde(default)]
    shared: bool,
}

impl told::Keys for Keys {
    const KIND: &'static str = "list";
    const WRITES: Option<bool> = None;

    fn check(&self) -> Result<(), String> {
        let count = self.statements.len();
        if !(1..=STATEMENTS_MAX).contains(&count) {
            return Err(format!(
                "workload.statements: their number: {count} is not between 1 and {STATEMENTS_MAX}"
            ));
        }
        let is_empty = |text: &String| text.trim().is_empty();
        match self.statements.iter().position(is_empty) {
            Some(place) => Err(format!("workload.statements[{place}]: it is empty")),
            None => Ok(()),
        }
    }
}

impl Told for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        Ok(native(List::new(self.statements.clone(), self.shared), way))
    }

    /// A list that is asked so often, or shared, says how many events there are, and who has them.
    fn fit(&self, load: &mut Load) -> Result<(), String> {
        let length = self.statements.len() as u64;
        let events = self.times.map(|times| times.saturating_mul(length));
        let limits = [load.events, load.events_each];
        if events.is_some()
            && limits
                .into_iter()
                .any(|limit| limit.is_some() && limit != events)
        {
            return Err(
                "workload.times: load.events and load.events_each limit the run too; say one of \
                 them"
                    .to_owned(),
            );
        }
        if self.shared {
            // Without an end the connections share the numbers of their events all the same.
            load.events = events.or(load.events).or(Some(u64::MAX));
            return Ok(());
        }
        if load.events.is_some() || matches!(load.arrival, Arrival::Open { .. }) {
            return Err(
                "workload.shared: with load.events, and under an open loop, an event goes to \
                 whichever connection is free, so no connection asks the whole list; set it to true"
                    .to_owned(),
            );
        }
        load.events_each = events.or(load.events_each);
        Ok(())
    }
}

/// Each session asks the whole list, again and again; or all of them share one list.
#[derive(Clone, Debug)]
pub struct List {
    statements: Vec<String>,
    is_shared: bool,
}

impl List {
    pub fn new(statements: Vec<String>, is_shared: bool) -> Self {
        Self {
            statements,
            is_shared,
        }
    }

    /// A longer list has one class for all of its statements.
    fn has_classes(&self) -> bool {
        self.statements.len() <= CLASSES_MAX
    }
}

/// How many sessions there are: their events are numbered in turn.
pub struct Sessions(u64);

impl Own for Sessions {
    fn of(seat: Seat) -> Self {
        Self(u64::from(seat.count).max(1))
    }
}

impl Kind for List {
    type Own = Sessions;

    fn events(&self) -> Vec<EventKind> {
        let numbers = 1..=self.statements.len();
        let classes = match self.has_classes() {
            true => numbers.map(|n| format!("statement_{n}")).collect(),
            false => vec!["statement".to_owned()],
        };
        vec![EventKind {
            name: "statement".to_owned(),
            classes,
        }]
    }

    fn queries(&self) -> Vec<Query> {
        let class = |place: usize| if self.has_classes() { place as u8 } else { 0 };
        let query = |(place, text): (usize, &String)| Query {
            class: class(place),
            pieces: vec![text.clone()],
            is_text: !can_be_prepared(text),
            in_bulk: false,
        };
        self.statements.iter().enumerate().map(query).collect()
    }

    fn is_single_query(&self) -> bool {
        self.statements.len() == 1
    }

    fn next(
        &self,
        _heard: Heard<'_>,
        event: &mut Event,
        sessions: &mut Sessions,
        _values: &mut Parameters,
    ) -> Next {
        let turn = match self.is_shared {
            true => event.cycle,
            false => event.cycle / sessions.0,
        };
        Next::only((turn % self.statements.len().max(1) as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::workload::native::tests::asked;

    fn list(length: usize, is_shared: bool) -> List {
        let statements = (1..=length).map(|n| format!("SELECT {n}")).collect();
        List::new(statements, is_shared)
    }

    #[test]
    fn statements_come_in_order_and_over_again() {
        let texts = asked(&list(2, false), 9, 5);
        assert_eq!(
            texts,
            ["SELECT 1", "SELECT 2", "SELECT 1", "SELECT 2", "SELECT 1"]
        );
    }

    #[test]
    fn each_session_asks_all_of_them_unless_they_share_the_list() {
        let asks = |is_shared, cycle| {
            let mut event = Event::new(1, cycle);
            let (list, mut values) = (list(5, is_shared), Parameters::default());
            list.next(Heard::Begin, &mut event, &mut Sessions(3), &mut values)
        };
        // Of three sessions the second has events 1, 4 and 7.
        let own = [1, 4, 7].map(|cycle| asks(false, cycle));
        assert_eq!(own, [Next::only(0), Next::only(1), Next::only(2)]);
        let shared = [1, 4, 7].map(|cycle| asks(true, cycle));
        assert_eq!(shared, [Next::only(1), Next::only(4), Next::only(2)]);
    }

    #[test]
    fn a_long_list_has_one_class() {
        let classes = |length| list(length, false).events()[0].classes.len();
        assert_eq!((classes(250), classes(251)), (250, 1));
        assert!(
            list(300, false)
                .queries()
                .iter()
                .all(|query| query.class == 0)
        );
    }
}
