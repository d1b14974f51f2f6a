//! Where each statement of a session stands among its transactions.

use crate::boundary::{Boundary, boundary};
use crate::stored::StoredStatement;
use std::collections::HashMap;

/// Transactions with more statements, or that take longer, are left out; of reads alone, they are
/// divided.
const TRANSACTION_STATEMENTS: u32 = 10_000;
const TRANSACTION_US: i64 = 60_000_000;

/// A session's transaction, and whether each statement is one of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionTransaction {
    pub no_autocommit: bool,
    pub open: Option<OpenTransaction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenTransaction {
    /// The number of its first statement.
    pub first: u64,
    pub begun_us: i64,
    pub statements: u32,
    pub is_left_out: bool,
}

/// What becomes of the transaction before a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// It is committed, or divided.
    Ends(u64),
    LeftOut(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The statement says so, or is alone.
    Ends { rolls_back: bool },
    /// The session is over.
    Lost,
}

/// The place of a statement. Transactions go by the numbers of their first statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlacedStatement {
    pub before: Option<Before>,
    pub of: Option<u64>,
    /// It begins, divides or ends its transaction.
    pub is_frame: bool,
    /// Its transaction begins with it, and it does not say so.
    pub begins_unsaid: bool,
    pub after: Option<After>,
}

/// Follows the transactions of sessions.
#[derive(Debug, Default)]
pub struct Follower {
    /// Those inside a transaction, or without autocommit.
    pub sessions: HashMap<u32, SessionTransaction>,
    pub writes: bool,
}

impl Follower {
    pub fn place(
        &mut self,
        number: u64,
        statement: &StoredStatement<'_>,
        is_last: bool,
    ) -> PlacedStatement {
        let known = self.sessions.get(&statement.session).copied();
        let mut session = known.unwrap_or_default();
        let new = OpenTransaction {
            first: number,
            begun_us: statement.begin_us,
            statements: 1,
            is_left_out: false,
        };
        let mut placed = PlacedStatement::default();
        let end = |session: &mut SessionTransaction| {
            let open = session.open.take().filter(|open| !open.is_left_out);
            open.map(|open| Before::Ends(open.first))
        };
        match boundary(statement.text, statement.mode()) {
            Boundary::Begin => {
                placed.before = end(&mut session);
                session.open = Some(new);
                (placed.of, placed.is_frame) = (Some(number), true);
            }
            Boundary::End { rolls_back, chains } => {
                if let Some(open) = session.open.take()
                    && !open.is_left_out
                {
                    (placed.of, placed.is_frame) = (Some(open.first), true);
                    placed.after = Some(After::Ends { rolls_back });
                }
                session.open = chains.then_some(OpenTransaction {
                    is_left_out: true,
                    ..new
                });
            }
            Boundary::Autocommit(is_on) => {
                if is_on {
                    placed.before = end(&mut session);
                }
                session.no_autocommit = !is_on;
            }
            Boundary::Commits => placed.before = end(&mut session),
            Boundary::Distributed { begins } => {
                placed.before = end(&mut session);
                session.open = begins.then_some(OpenTransaction {
                    is_left_out: true,
                    ..new
                });
            }
            inside => {
                placed.is_frame = inside == Boundary::Savepoint;
                match &mut session.open {
                    Some(open) if !open.is_left_out => {
                        open.statements += 1;
                        let is_long = open.statements > TRANSACTION_STATEMENTS
                            || statement.begin_us.saturating_sub(open.begun_us) > TRANSACTION_US;
                        placed.of = Some(open.first);
                        if is_long && self.writes {
                            placed.before = Some(Before::LeftOut(open.first));
                            (placed.of, open.is_left_out) = (None, true);
                        } else if is_long {
                            placed.before = Some(Before::Ends(open.first));
                            (placed.of, *open) = (Some(number), new);
                        }
                    }
                    Some(_) => {}
                    None if session.no_autocommit => {
                        session.open = Some(new);
                        (placed.of, placed.begins_unsaid) = (Some(number), true);
                    }
                    None if placed.is_frame => {}
                    None => {
                        placed.of = Some(number);
                        placed.after = Some(After::Ends { rolls_back: false });
                    }
                }
            }
        }
        if is_last {
            let open = session.open.filter(|open| !open.is_left_out);
            placed.after = placed.after.or(open.map(|_| After::Lost));
            session = SessionTransaction::default();
        }
        if session == SessionTransaction::default() {
            self.sessions.remove(&statement.session);
        } else {
            self.sessions.insert(statement.session, session);
        }
        placed
    }
}
