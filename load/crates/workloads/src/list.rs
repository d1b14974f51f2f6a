//! A list of statements, sent in order; each event is one statement.

use super::config::{WorkloadConfig, native};
use super::native::{Asker, Carries, EventEnd, EventResult, Kind, QueryText, Way};
use super::statement::can_be_prepared;
use crate::config;
use contend_engine::workload::{CLASSES_MAX, EventKind, SeatPlace, Workload};
use contend_plan::{Arrival, Load};
use schemars::JsonSchema;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

const STATEMENTS_MAX: usize = 100_000;

/// The next of a list of statements; each connection sends all of them in order.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// The statements.
    statements: Vec<String>,
    /// Their names in outcomes, one per statement; statements with the same name are recorded
    /// together. Absent: statement_1, statement_2 and so on.
    #[serde(default)]
    names: Vec<String>,
    /// Times the list is sent, per connection unless shared; the run then ends. Absent: by time.
    #[serde(default)]
    #[schemars(range(min = 1))]
    times: Option<u64>,
    /// All connections share one list and `times`: the next statement goes to the first free one.
    #[serde(default)]
    shared: bool,
}

impl config::Keys for Keys {
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
        if let Some(place) = self.statements.iter().position(is_empty) {
            return Err(format!("workload.statements[{place}]: it is empty"));
        }
        check_names(&self.names, count)
    }
}

/// Checks the names, which become names of statement classes and then of metrics.
fn check_names(names: &[String], statements: usize) -> Result<(), String> {
    if names.is_empty() {
        return Ok(());
    }
    if names.len() != statements {
        return Err(format!(
            "workload.names: {} names for {statements} statements; use one per statement",
            names.len()
        ));
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for (place, name) in names.iter().enumerate() {
        if name.is_empty() || !name.chars().all(is_word) {
            return Err(format!(
                "workload.names[{place}]: \"{name}\" is not a name; use letters, digits and _"
            ));
        }
    }
    let different: HashSet<&String> = names.iter().collect();
    if different.len() > CLASSES_MAX {
        return Err(format!(
            "workload.names: {} different names; at most {CLASSES_MAX} are possible",
            different.len()
        ));
    }
    Ok(())
}

impl WorkloadConfig for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        let list = List::new(self.statements.clone(), &self.names, self.shared);
        Ok(native(list, way))
    }

    /// If the list is shared or has `times`, it sets how many events the load has, and whether the
    /// connections share them.
    fn fit(&self, load: &mut Load) -> Result<(), String> {
        let length = self.statements.len() as u64;
        let events = self.times.map(|times| times.saturating_mul(length));
        let mut limits = [load.events, load.events_each].into_iter().flatten();
        if events.is_some() && limits.any(|limit| Some(limit) != events) {
            return Err(
                "workload.times: load.events or load.events_each limits the run already; set only \
                 one of them"
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
                "workload.shared: with load.events or in an open loop, an event goes to the first \
                 free connection, so no connection sends the whole list; set it to true"
                    .to_owned(),
            );
        }
        load.events_each = events.or(load.events_each);
        Ok(())
    }
}

/// Each session sends the whole list repeatedly; or all sessions share one list.
#[derive(Clone, Debug)]
pub struct List {
    statements: Vec<String>,
    classes: Vec<String>,
    /// The class of each statement.
    class_of: Vec<u8>,
    is_shared: bool,
}

impl List {
    /// The names were checked before; if there are none, the statements are numbered.
    fn new(statements: Vec<String>, names: &[String], is_shared: bool) -> Self {
        let names = match names {
            [] => Cow::Owned(numbered(statements.len())),
            names => Cow::Borrowed(names),
        };
        let (mut classes, mut class_of): (Vec<String>, Vec<u8>) = (Vec::new(), Vec::new());
        for name in &*names {
            let known = classes.iter().position(|class| class == name);
            class_of.push(known.unwrap_or(classes.len()) as u8);
            if known.is_none() {
                classes.push(name.clone());
            }
        }
        Self {
            statements,
            classes,
            class_of,
            is_shared,
        }
    }
}

/// Names of `count` statements, by their numbers; a longer list has one name for all of them.
fn numbered(count: usize) -> Vec<String> {
    match count <= CLASSES_MAX {
        true => (1..=count).map(|n| format!("statement_{n}")).collect(),
        false => vec!["statement".to_owned(); count],
    }
}

impl Kind for List {
    type Own = SeatPlace;

    fn events(&self) -> Vec<EventKind> {
        vec![EventKind {
            name: "statement".to_owned(),
            classes: self.classes.clone(),
        }]
    }

    fn queries(&self) -> Vec<QueryText> {
        let query = |(text, class): (&String, &u8)| QueryText {
            class: *class,
            pieces: vec![text.clone()],
            is_text: !can_be_prepared(text),
            carries: Carries::One,
        };
        let queries = self.statements.iter().zip(&self.class_of);
        queries.map(query).collect()
    }

    fn is_single_query(&self) -> bool {
        self.statements.len() == 1
    }

    fn asks_once(&self) -> bool {
        true
    }

    async fn event(&self, ask: &mut Asker<Self>) -> EventResult {
        let length = self.statements.len();
        let place = ask.with(|event, seat| seat.in_list(event.cycle, length, self.is_shared));
        ask.ask(|_, _| place).last(EventEnd::Done)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::native::tests::{asked, first};

    fn list(length: usize, is_shared: bool) -> List {
        named(length, is_shared, &[])
    }

    fn named(length: usize, is_shared: bool, names: &[String]) -> List {
        let statements = (1..=length).map(|n| format!("SELECT {n}")).collect();
        List::new(statements, names, is_shared)
    }

    #[test]
    fn statements_come_in_order_and_over_again() {
        let texts = asked(list(2, false), 9, 5);
        assert_eq!(
            texts,
            ["SELECT 1", "SELECT 2", "SELECT 1", "SELECT 2", "SELECT 1"]
        );
    }

    #[test]
    fn each_session_asks_all_of_them_unless_they_share_the_list() {
        let asks = |is_shared, cycle| {
            let seat = SeatPlace {
                index: 0,
                count: 3,
                worker: 0,
                seed: 1,
            };
            first(Arc::new(list(5, is_shared)), seat, cycle).unwrap()
        };
        // With three sessions, the second has events 1, 4 and 7.
        let own = [1, 4, 7].map(|cycle| asks(false, cycle));
        assert_eq!(own, ["SELECT 1", "SELECT 2", "SELECT 3"]);
        let shared = [1, 4, 7].map(|cycle| asks(true, cycle));
        assert_eq!(shared, ["SELECT 2", "SELECT 5", "SELECT 3"]);
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn statements_are_called_what_the_plan_calls_them() {
        let named = named(3, false, &names(&["read", "write", "read"]));
        assert_eq!(named.events()[0].classes, ["read", "write"]);
        let classes: Vec<u8> = named.queries().iter().map(|query| query.class).collect();
        assert_eq!(classes, [0, 1, 0]);
        let plain = list(2, false);
        assert_eq!(plain.events()[0].classes, ["statement_1", "statement_2"]);
    }

    #[test]
    fn names_that_no_class_can_have_are_refused() {
        let said = |given: &[&str]| check_names(&names(given), 2).unwrap_err();
        assert!(said(&["a"]).contains("1 names for 2 statements"));
        assert!(said(&["a", "b.c"]).contains("names[1]: \"b.c\" is not a name"));
        assert!(said(&["a", ""]).contains("names[1]"));
        let many: Vec<String> = (0..300).map(|n| format!("s{n}")).collect();
        assert!(
            check_names(&many, 300)
                .unwrap_err()
                .contains("300 different names")
        );
        assert!(check_names(&[], 300).is_ok());
        assert!(check_names(&vec!["one".to_owned(); 300], 300).is_ok());
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
