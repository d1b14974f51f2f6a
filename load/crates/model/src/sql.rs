//! The statements that the model server understands: a few, and those exactly. The caller refuses
//! all others, and nothing is guessed.
//!
//! A point select is read without an allocation: it is the statement of a load.

mod items;
mod listing;
mod points;
mod settings;

pub use points::key;

use contend_sql::{Mode, TokenKind, Tokens};
use items::items;
use listing::{listed, show};
use points::{point_key, points};
use settings::set;

/// The columns of `sbtest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SbtestColumn {
    Id,
    K,
    C,
    Pad,
}

impl SbtestColumn {
    pub const ALL: [Self; 4] = [Self::Id, Self::K, Self::C, Self::Pad];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::K => "k",
            Self::C => "c",
            Self::Pad => "pad",
        }
    }

    fn named(name: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|column| name.eq_ignore_ascii_case(column.name().as_bytes()))
    }
}

/// Most columns that a select names.
pub const COLUMNS_MAX: usize = 8;

/// The columns of an answer, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selected {
    columns: [SbtestColumn; COLUMNS_MAX],
    count: usize,
}

impl Selected {
    pub fn columns(&self) -> &[SbtestColumn] {
        self.columns.get(..self.count).unwrap_or_default()
    }

    fn none() -> Self {
        Self {
            columns: [SbtestColumn::Id; COLUMNS_MAX],
            count: 0,
        }
    }

    fn push(&mut self, column: SbtestColumn) -> Option<()> {
        *self.columns.get_mut(self.count)? = column;
        self.count += 1;
        Some(())
    }
}

/// A table, as a statement names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableName<'s> {
    pub database: Option<&'s [u8]>,
    pub table: &'s [u8],
}

/// A value that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointKey {
    /// What no row has is none.
    Key(Option<u32>),
    /// The next value that is bound.
    Bound,
}

/// The values of a point select, unchanged from its text.
#[derive(Clone, Debug)]
pub struct PointKeys<'s> {
    tokens: Tokens<'s>,
    has_more: bool,
}

impl Iterator for PointKeys<'_> {
    type Item = PointKey;

    #[inline]
    fn next(&mut self) -> Option<PointKey> {
        if !self.has_more {
            return None;
        }
        // They were read once before, when the statement was.
        let key = point_key(&mut self.tokens)?;
        self.has_more = self.tokens.takes(b",");
        Some(key)
    }
}

/// `SELECT … FROM sbtest WHERE k IN (…)`, `k = …` or `id = …`.
#[derive(Clone, Debug)]
pub struct PointSelect<'s> {
    pub selected: Selected,
    pub table: TableName<'s>,
    /// By the primary key; otherwise by `k`.
    pub by_id: bool,
    pub keys: PointKeys<'s>,
}

/// What a `SELECT` without a table gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemValue<'s> {
    Number(u64),
    Text(&'s [u8]),
    Null,
    /// `@@NAME`, `@@GLOBAL.NAME`, `@@SESSION.NAME`.
    Variable(&'s [u8]),
    Version,
    ConnectionId,
    Database,
    User,
}

/// An expression of such a `SELECT`, and the name of its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'s> {
    pub given: ItemValue<'s>,
    pub name: &'s [u8],
}

/// What a statement gives a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment<'s> {
    pub name: &'s [u8],
    /// Unchanged from the statement; a text without its quotes.
    pub value: &'s [u8],
}

/// One condition that a row of a list has to meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition<'s> {
    /// The column is one of these, or none of them.
    In {
        column: &'s [u8],
        values: Vec<&'s [u8]>,
        wanted: bool,
    },
    Like {
        column: &'s [u8],
        pattern: &'s [u8],
    },
    Null {
        column: &'s [u8],
        wanted: bool,
    },
}

/// A list that the server keeps of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListName {
    Status,
    Variables,
    Warnings,
    Databases,
    Tables,
    /// `information_schema.KEY_CACHES`.
    KeyCaches,
    /// `information_schema.SYSTEM_VARIABLES`.
    SystemVariables,
}

/// A list, which columns of it, and which rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed<'s> {
    pub list: ListName,
    /// All, if it is empty.
    pub columns: Vec<&'s [u8]>,
    /// All of them hold.
    pub conditions: Vec<Condition<'s>>,
}

/// A statement that was understood.
#[derive(Clone, Debug)]
pub enum Understood<'s> {
    Points(PointSelect<'s>),
    Items(Vec<Item<'s>>),
    Listed(Listed<'s>),
    SetGlobal(Vec<Assignment<'s>>),
    /// Settings of the session: names that must exist, values that change nothing here.
    SetSession(Vec<&'s [u8]>),
    LoadIndex(TableName<'s>),
    /// It begins or ends a transaction, which MyISAM's tables do not have.
    Transaction,
    /// `USE NAME`.
    Use(&'s [u8]),
}

/// Why a statement was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Strange<'s> {
    /// It would change tables, rows or users.
    Writes,
    /// The table has no column of that name.
    Column(&'s [u8]),
    /// `information_schema` has no such table here.
    SchemaTable(&'s [u8]),
    Other,
}

type Understanding<'s, T> = Result<T, Strange<'s>>;

/// Understands one statement.
///
/// # Errors
/// It is none of those that the model server knows.
pub fn understand(sql: &[u8]) -> Understanding<'_, Understood<'_>> {
    let mut tokens = Tokens::new(sql, Mode::default());
    let understood = statement(&mut tokens)?;
    match ends(&mut tokens) {
        true => Ok(understood),
        false => Err(Strange::Other),
    }
}

fn statement<'s>(tokens: &mut Tokens<'s>) -> Understanding<'s, Understood<'s>> {
    let first = tokens.read().ok_or(Strange::Other)?;
    let is = |word: &[u8]| first.is_word(word);
    if is(b"SELECT") {
        select(tokens)
    } else if is(b"SET") {
        set(tokens)
    } else if is(b"SHOW") {
        show(tokens)
    } else if is(b"LOAD") {
        load(tokens)
    } else if is(b"USE") {
        Ok(Understood::Use(name(tokens)?))
    } else if is(b"BEGIN") || is(b"COMMIT") || is(b"ROLLBACK") {
        tokens.takes_word(b"WORK");
        Ok(Understood::Transaction)
    } else if is(b"START") {
        wants_word(tokens, b"TRANSACTION")?;
        Ok(Understood::Transaction)
    } else if WRITES.iter().any(|word| is(word)) {
        Err(Strange::Writes)
    } else {
        Err(Strange::Other)
    }
}

/// How statements begin that would change something.
const WRITES: [&[u8]; 13] = [
    b"INSERT",
    b"UPDATE",
    b"DELETE",
    b"REPLACE",
    b"CREATE",
    b"DROP",
    b"ALTER",
    b"TRUNCATE",
    b"RENAME",
    b"GRANT",
    b"REVOKE",
    b"OPTIMIZE",
    b"REPAIR",
];

fn select<'s>(tokens: &mut Tokens<'s>) -> Understanding<'s, Understood<'s>> {
    let start = tokens.clone();
    if let Some(points) = points(tokens) {
        return points.map(Understood::Points);
    }
    *tokens = start.clone();
    if let Some(items) = items(tokens) {
        return Ok(Understood::Items(items));
    }
    *tokens = start;
    listed(tokens)
}

fn load<'s>(tokens: &mut Tokens<'s>) -> Understanding<'s, Understood<'s>> {
    if !tokens.takes_word(b"INDEX") {
        return Err(Strange::Writes);
    }
    wants_word(tokens, b"INTO")?;
    wants_word(tokens, b"CACHE")?;
    Ok(Understood::LoadIndex(table_name(tokens)?))
}

fn table_name<'s>(tokens: &mut Tokens<'s>) -> Understanding<'s, TableName<'s>> {
    let first = name(tokens)?;
    if !tokens.takes(b".") {
        return Ok(TableName {
            database: None,
            table: first,
        });
    }
    Ok(TableName {
        database: Some(first),
        table: name(tokens)?,
    })
}

impl TableName<'_> {
    fn is_schema(&self) -> bool {
        self.database
            .is_some_and(|name| name.eq_ignore_ascii_case(b"information_schema"))
    }
}

/// Nothing follows but a semicolon, and every comment has its end.
fn ends(tokens: &mut Tokens<'_>) -> bool {
    tokens.takes(b";");
    tokens.read().is_none() && tokens.open_comment().is_none()
}

/// A name, with or without backticks.
fn name<'s>(tokens: &mut Tokens<'s>) -> Understanding<'s, &'s [u8]> {
    match tokens.read() {
        Some(token) if matches!(token.kind, TokenKind::Word | TokenKind::Name) => Ok(token.inner()),
        _ => Err(Strange::Other),
    }
}

fn wants<'s>(tokens: &mut Tokens<'s>, operator: &[u8]) -> Understanding<'s, ()> {
    tokens.takes(operator).then_some(()).ok_or(Strange::Other)
}

fn wants_word<'s>(tokens: &mut Tokens<'s>, word: &[u8]) -> Understanding<'s, ()> {
    tokens.takes_word(word).then_some(()).ok_or(Strange::Other)
}

#[cfg(test)]
mod tests;
