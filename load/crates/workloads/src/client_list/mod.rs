//! Clients of mysqlslap: each runs one list of statements from its head, over and over.
//!
//! An event is one statement. A client may commit, or reconnect, after every given number of
//! statements. The time for that is part of the event it happens in.

mod session;

use super::statement::{Statement, can_be_prepared};
use contend_engine::workload::{CLASSES_MAX, EventKind, SeatPlace, Session, Workload};
use contend_figures::IgnoredErrors;
use contend_figures::outcome::Failure;
use std::collections::HashMap;
use std::sync::Arc;

/// A statement of the list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Text {
    Plain(String),
    /// A key follows, a different one each time.
    ByKey(String),
}

/// The work of all clients.
#[derive(Clone, Default)]
pub struct Clients {
    pub statements: Vec<Text>,
    /// The keys that [`Text::ByKey`] chooses from.
    pub keys: Vec<String>,
    /// Run on every new connection.
    pub init: Vec<String>,
    /// Commit after this number of statements, and at the end; 0: never.
    pub commit_every: u64,
    /// Open the connection again after this number of statements, and commit before; 0: never.
    pub reconnect_every: u64,
    pub prepares: bool,
    /// Clients share the list: a statement goes to whichever is free.
    pub is_shared: bool,
    /// The times of each statement are kept apart.
    pub by_statement: bool,
    pub ignores: IgnoredErrors,
    /// Called for each connection and each statement.
    pub watch: Option<OnStep>,
}

/// Called for a step of a client: a connection (none), or a statement.
pub type OnStep = Arc<dyn Fn(Option<&str>) + Send + Sync>;

/// The clients as a workload.
pub struct ClientList {
    clients: Arc<Clients>,
    /// Each different text once, and its place for each statement of the list.
    distinct: Vec<Statement>,
    places: Arc<[u32]>,
    events: Vec<EventKind>,
}

impl ClientList {
    pub fn new(mut clients: Clients) -> Self {
        clients.by_statement &= (2..=CLASSES_MAX).contains(&clients.statements.len());
        let mut distinct = Vec::new();
        let mut places = Vec::new();
        if clients.prepares {
            let mut known: HashMap<&Text, u32> = HashMap::new();
            for text in &clients.statements {
                let place = *known.entry(text).or_insert_with(|| {
                    distinct.push(Statement::new(match text {
                        Text::Plain(sql) => vec![sql.clone()],
                        Text::ByKey(sql) => vec![sql.clone(), String::new()],
                    }));
                    distinct.len() as u32 - 1
                });
                places.push(place);
            }
        }
        let classes = match clients.by_statement {
            true => (1..=clients.statements.len())
                .map(|n| format!("statement_{n}"))
                .collect(),
            false => vec!["statement".to_owned()],
        };
        Self {
            events: vec![EventKind {
                name: "statement".to_owned(),
                classes,
            }],
            clients: Arc::new(clients),
            distinct,
            places: places.into(),
        }
    }
}

impl Workload for ClientList {
    fn kinds(&self) -> &[EventKind] {
        &self.events
    }

    fn classes(&self) -> &[String] {
        self.events.first().map_or(&[], |kind| &kind.classes)
    }

    fn is_single_query(&self) -> bool {
        !self.clients.by_statement
    }

    fn prepared_statements(&self) -> usize {
        self.distinct
            .iter()
            .filter(|statement| can_be_prepared(statement.sql()))
            .count()
    }

    fn judges_errors(&self) -> bool {
        true
    }

    fn session(&self, seat: SeatPlace) -> Result<Box<dyn Session>, Failure> {
        let clients = Arc::clone(&self.clients);
        let places = Arc::clone(&self.places);
        let distinct = self.distinct.clone();
        Ok(Box::new(session::session(clients, distinct, places, seat)))
    }
}
