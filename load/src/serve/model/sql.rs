//! The statements that the model server understands: a few, and those exactly. What is not
//! understood is refused by whoever asked, and nothing is guessed.
//!
//! A point select is read without an allocation: it is what a load asks.

use super::tokens::{Token, Tokens};

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
pub enum Wish {
    /// What no row has is none.
    Key(Option<u32>),
    /// The next value that is bound.
    Bound,
}

/// The values of a point select, as they stand in its text.
#[derive(Clone, Debug)]
pub struct Wishes<'s> {
    tokens: Tokens<'s>,
    has_more: bool,
}

impl Iterator for Wishes<'_> {
    type Item = Wish;

    #[inline]
    fn next(&mut self) -> Option<Wish> {
        if !self.has_more {
            return None;
        }
        // They were read once before, when the statement was.
        let wish = wish(&mut self.tokens)?;
        self.has_more = self.tokens.takes(Token::Symbol(b','));
        Some(wish)
    }
}

/// `SELECT … FROM sbtest WHERE k IN (…)`, `k = …` or `id = …`.
#[derive(Clone, Debug)]
pub struct PointSelect<'s> {
    pub selected: Selected,
    pub table: TableName<'s>,
    /// By the primary key; otherwise by `k`.
    pub by_id: bool,
    pub wishes: Wishes<'s>,
}

/// What a `SELECT` without a table gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given<'s> {
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

/// An expression of such a `SELECT`, and what its column is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'s> {
    pub given: Given<'s>,
    pub name: &'s [u8],
}

/// What a statement gives a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment<'s> {
    pub name: &'s [u8],
    /// As it stands there; of a text without its quotes.
    pub value: &'s [u8],
}

/// One thing that a row of a list has to meet.
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
pub enum List {
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
    pub list: List,
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

type Read<'s, T> = Result<T, Strange<'s>>;

/// Understands one statement.
///
/// # Errors
/// It is none of those that the model server knows.
pub fn understand(sql: &[u8]) -> Read<'_, Understood<'_>> {
    let mut tokens = Tokens::new(sql);
    let understood = statement(&mut tokens)?;
    tokens.takes(Token::Symbol(b';'));
    match tokens.read() {
        Token::End => Ok(understood),
        _ => Err(Strange::Other),
    }
}

fn statement<'s>(tokens: &mut Tokens<'s>) -> Read<'s, Understood<'s>> {
    let Token::Word(first) = tokens.read() else {
        return Err(Strange::Other);
    };
    let is = |word: &[u8]| first.eq_ignore_ascii_case(word);
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
        tokens.wants_word(b"TRANSACTION")?;
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

fn select<'s>(tokens: &mut Tokens<'s>) -> Read<'s, Understood<'s>> {
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

/// None if it is no select of points at all.
fn points<'s>(tokens: &mut Tokens<'s>) -> Option<Read<'s, PointSelect<'s>>> {
    let mut selected = Selected::none();
    let mut unknown = None;
    if tokens.takes(Token::Symbol(b'*')) {
        for column in SbtestColumn::ALL {
            selected.push(column)?;
        }
    } else {
        loop {
            let name = name(tokens).ok()?;
            match SbtestColumn::named(name) {
                Some(column) => selected.push(column)?,
                None => unknown = unknown.or(Some(name)),
            }
            if !tokens.takes(Token::Symbol(b',')) {
                break;
            }
        }
    }
    tokens.wants_word(b"FROM").ok()?;
    let table = table_name(tokens).ok()?;
    if table.is_schema() {
        return None;
    }
    Some(where_points(tokens, selected, table, unknown))
}

fn where_points<'s>(
    tokens: &mut Tokens<'s>,
    selected: Selected,
    table: TableName<'s>,
    unknown: Option<&'s [u8]>,
) -> Read<'s, PointSelect<'s>> {
    tokens.wants_word(b"WHERE")?;
    let key = name(tokens)?;
    let column = SbtestColumn::named(key);
    if let Some(unknown) = unknown.or(column.is_none().then_some(key)) {
        return Err(Strange::Column(unknown));
    }
    let by_id = match column {
        Some(SbtestColumn::Id) => true,
        Some(SbtestColumn::K) => false,
        _ => return Err(Strange::Other),
    };
    let is_list = tokens.takes_word(b"IN");
    tokens.wants(Token::Symbol(if is_list { b'(' } else { b'=' }))?;
    let wishes = Wishes {
        tokens: tokens.clone(),
        has_more: true,
    };
    loop {
        wish(tokens).ok_or(Strange::Other)?;
        if !is_list {
            break;
        }
        if !tokens.takes(Token::Symbol(b',')) {
            tokens.wants(Token::Symbol(b')'))?;
            break;
        }
    }
    Ok(PointSelect {
        selected,
        table,
        by_id,
        wishes,
    })
}

#[inline]
fn wish(tokens: &mut Tokens<'_>) -> Option<Wish> {
    Some(match tokens.read() {
        Token::Mark => Wish::Bound,
        Token::Number(digits) => Wish::Key(key(digits)?),
        Token::Symbol(b'-') => match tokens.read() {
            Token::Number(digits) => Wish::Key(key(digits)?.filter(|key| *key == 0)),
            _ => return None,
        },
        // A number in quotes is a number to a server.
        Token::Text(digits) if !digits.is_empty() => Wish::Key(key(digits)?),
        _ => return None,
    })
}

/// A whole number, which may be one that no row has; none if it is no whole number.
#[inline]
pub fn key(digits: &[u8]) -> Option<Option<u32>> {
    let mut number = 0u64;
    for digit in digits {
        let value = digit.wrapping_sub(b'0');
        if value > 9 {
            return None;
        }
        number = number.saturating_mul(10).saturating_add(value.into());
    }
    Some(u32::try_from(number).ok())
}

fn items<'s>(tokens: &mut Tokens<'s>) -> Option<Vec<Item<'s>>> {
    let mut items = Vec::new();
    loop {
        let start = tokens.rest();
        let given = given(tokens)?;
        let end = start.len() - tokens.rest().len();
        let mut called = start.get(..end)?.trim_ascii();
        if tokens.takes_word(b"AS") {
            called = name(tokens).ok()?;
        }
        items.push(Item {
            given,
            name: called,
        });
        if !tokens.takes(Token::Symbol(b',')) {
            break;
        }
    }
    if tokens.takes_word(b"LIMIT") {
        let Token::Number(_) = tokens.read() else {
            return None;
        };
    }
    let mut after = tokens.clone();
    after.takes(Token::Symbol(b';'));
    (after.read() == Token::End).then_some(items)
}

fn given<'s>(tokens: &mut Tokens<'s>) -> Option<Given<'s>> {
    Some(match tokens.read() {
        Token::Number(digits) => Given::Number(std::str::from_utf8(digits).ok()?.parse().ok()?),
        Token::Text(text) => Given::Text(text),
        Token::Variable => {
            let (_, name) = variable(tokens).ok()?;
            Given::Variable(name)
        }
        Token::Word(word) => {
            const CALLS: [(&[u8], Given<'_>); 7] = [
                (b"VERSION", Given::Version),
                (b"CONNECTION_ID", Given::ConnectionId),
                (b"DATABASE", Given::Database),
                (b"SCHEMA", Given::Database),
                (b"USER", Given::User),
                (b"CURRENT_USER", Given::User),
                (b"NULL", Given::Null),
            ];
            let call = CALLS
                .iter()
                .find(|call| word.eq_ignore_ascii_case(call.0))?;
            if call.1 != Given::Null {
                tokens.wants(Token::Symbol(b'(')).ok()?;
                tokens.wants(Token::Symbol(b')')).ok()?;
            }
            call.1
        }
        _ => return None,
    })
}

/// What follows `@@`: whether it is the server's, and its name.
fn variable<'s>(tokens: &mut Tokens<'s>) -> Read<'s, (bool, &'s [u8])> {
    let first = name(tokens)?;
    let scope = |word: &[u8]| first.eq_ignore_ascii_case(word);
    let is_global = scope(b"GLOBAL");
    if is_global || scope(b"SESSION") || scope(b"LOCAL") {
        tokens.wants(Token::Symbol(b'.'))?;
        return Ok((is_global, name(tokens)?));
    }
    Ok((false, first))
}

/// A select from one of the server's own lists.
fn listed<'s>(tokens: &mut Tokens<'s>) -> Read<'s, Understood<'s>> {
    let mut columns = Vec::new();
    if !tokens.takes(Token::Symbol(b'*')) {
        loop {
            columns.push(name(tokens)?);
            if !tokens.takes(Token::Symbol(b',')) {
                break;
            }
        }
    }
    tokens.wants_word(b"FROM")?;
    let table = table_name(tokens)?;
    if !table.is_schema() {
        return Err(Strange::Other);
    }
    let list = match table.table {
        name if name.eq_ignore_ascii_case(b"KEY_CACHES") => List::KeyCaches,
        name if name.eq_ignore_ascii_case(b"SYSTEM_VARIABLES") => List::SystemVariables,
        name => return Err(Strange::SchemaTable(name)),
    };
    let conditions = conditions(tokens)?;
    Ok(Understood::Listed(Listed {
        list,
        columns,
        conditions,
    }))
}

fn show<'s>(tokens: &mut Tokens<'s>) -> Read<'s, Understood<'s>> {
    let has_scope = [&b"GLOBAL"[..], b"SESSION", b"LOCAL"]
        .into_iter()
        .any(|scope| tokens.takes_word(scope));
    let what = name(tokens)?;
    let is = |word: &[u8]| what.eq_ignore_ascii_case(word);
    let list = if is(b"STATUS") {
        List::Status
    } else if is(b"VARIABLES") {
        List::Variables
    } else if has_scope {
        return Err(Strange::Other);
    } else if is(b"WARNINGS") || is(b"ERRORS") {
        List::Warnings
    } else if is(b"DATABASES") || is(b"SCHEMAS") {
        List::Databases
    } else if is(b"TABLES") {
        List::Tables
    } else {
        return Err(Strange::Other);
    };
    let conditions = match list {
        List::Warnings => Vec::new(),
        _ if tokens.takes_word(b"LIKE") => {
            let Token::Text(pattern) = tokens.read() else {
                return Err(Strange::Other);
            };
            let column = match list {
                List::Databases => &b"Database"[..],
                List::Tables => b"Tables_in_sbtest",
                _ => b"Variable_name",
            };
            vec![Condition::Like { column, pattern }]
        }
        _ => conditions(tokens)?,
    };
    Ok(Understood::Listed(Listed {
        list,
        columns: Vec::new(),
        conditions,
    }))
}

/// `WHERE` with conditions, if it is there.
fn conditions<'s>(tokens: &mut Tokens<'s>) -> Read<'s, Vec<Condition<'s>>> {
    let mut conditions = Vec::new();
    if !tokens.takes_word(b"WHERE") {
        return Ok(conditions);
    }
    loop {
        conditions.push(condition(tokens)?);
        if !tokens.takes_word(b"AND") {
            return Ok(conditions);
        }
    }
}

fn condition<'s>(tokens: &mut Tokens<'s>) -> Read<'s, Condition<'s>> {
    let column = name(tokens)?;
    if tokens.takes_word(b"IS") {
        let wanted = !tokens.takes_word(b"NOT");
        tokens.wants_word(b"NULL")?;
        return Ok(Condition::Null { column, wanted });
    }
    if tokens.takes_word(b"LIKE") {
        let Token::Text(pattern) = tokens.read() else {
            return Err(Strange::Other);
        };
        return Ok(Condition::Like { column, pattern });
    }
    let wanted = !tokens.takes_word(b"NOT");
    let mut values = Vec::new();
    if tokens.takes_word(b"IN") {
        tokens.wants(Token::Symbol(b'('))?;
        loop {
            values.push(literal(tokens)?);
            if !tokens.takes(Token::Symbol(b',')) {
                break;
            }
        }
        tokens.wants(Token::Symbol(b')'))?;
    } else {
        if !wanted {
            return Err(Strange::Other);
        }
        tokens.wants(Token::Symbol(b'='))?;
        values.push(literal(tokens)?);
    }
    Ok(Condition::In {
        column,
        values,
        wanted,
    })
}

fn literal<'s>(tokens: &mut Tokens<'s>) -> Read<'s, &'s [u8]> {
    match tokens.read() {
        Token::Text(text) | Token::Number(text) => Ok(text),
        _ => Err(Strange::Other),
    }
}

fn set<'s>(tokens: &mut Tokens<'s>) -> Read<'s, Understood<'s>> {
    if tokens.takes_word(b"NAMES") || tokens.takes_word(b"CHARSET") {
        tokens.skip_value();
        return Ok(Understood::SetSession(Vec::new()));
    }
    let (mut global, mut session) = (Vec::new(), Vec::new());
    loop {
        match setting(tokens)? {
            Setting::Global(assignment) => global.push(assignment),
            Setting::Session(name) => session.push(name),
            Setting::Nothing => {}
        }
        if !tokens.takes(Token::Symbol(b',')) {
            break;
        }
    }
    if global.is_empty() {
        return Ok(Understood::SetSession(session));
    }
    // The two are not mixed by anybody.
    session
        .is_empty()
        .then_some(Understood::SetGlobal(global))
        .ok_or(Strange::Other)
}

enum Setting<'s> {
    Global(Assignment<'s>),
    Session(&'s [u8]),
    Nothing,
}

fn setting<'s>(tokens: &mut Tokens<'s>) -> Read<'s, Setting<'s>> {
    let (is_global, name) = if tokens.takes(Token::Variable) {
        variable(tokens)?
    } else if tokens.takes(Token::Symbol(b'@')) {
        // A variable of the client's own: nothing here reads it.
        name(tokens)?;
        wants_equals(tokens)?;
        tokens.skip_value();
        return Ok(Setting::Nothing);
    } else {
        let is_global = tokens.takes_word(b"GLOBAL");
        if !is_global && !tokens.takes_word(b"SESSION") {
            tokens.takes_word(b"LOCAL");
        }
        if tokens.takes_word(b"TRANSACTION") {
            // Its properties, with commas between them.
            tokens.skip_value();
            while tokens.takes(Token::Symbol(b',')) {
                tokens.skip_value();
            }
            return Ok(Setting::Nothing);
        }
        (is_global, name(tokens)?)
    };
    wants_equals(tokens)?;
    if !is_global {
        tokens.skip_value();
        return Ok(Setting::Session(name));
    }
    let value = match tokens.read() {
        Token::Text(text) | Token::Number(text) | Token::Word(text) => text,
        _ => return Err(Strange::Other),
    };
    Ok(Setting::Global(Assignment { name, value }))
}

fn wants_equals<'s>(tokens: &mut Tokens<'s>) -> Read<'s, ()> {
    tokens.takes(Token::Symbol(b':'));
    tokens.wants(Token::Symbol(b'='))
}

fn load<'s>(tokens: &mut Tokens<'s>) -> Read<'s, Understood<'s>> {
    if !tokens.takes_word(b"INDEX") {
        return Err(Strange::Writes);
    }
    tokens.wants_word(b"INTO")?;
    tokens.wants_word(b"CACHE")?;
    Ok(Understood::LoadIndex(table_name(tokens)?))
}

fn table_name<'s>(tokens: &mut Tokens<'s>) -> Read<'s, TableName<'s>> {
    let first = name(tokens)?;
    if !tokens.takes(Token::Symbol(b'.')) {
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

/// A name, with or without backticks.
fn name<'s>(tokens: &mut Tokens<'s>) -> Read<'s, &'s [u8]> {
    match tokens.read() {
        Token::Word(name) | Token::Name(name) => Ok(name),
        _ => Err(Strange::Other),
    }
}

impl<'s> Tokens<'s> {
    fn wants(&mut self, token: Token<'_>) -> Read<'s, ()> {
        if self.takes(token) {
            Ok(())
        } else {
            Err(Strange::Other)
        }
    }

    fn wants_word(&mut self, word: &[u8]) -> Read<'s, ()> {
        if self.takes_word(word) {
            Ok(())
        } else {
            Err(Strange::Other)
        }
    }

    /// Up to the next comma that is in no parentheses, or the end.
    fn skip_value(&mut self) {
        let mut depth = 0usize;
        loop {
            let before = self.clone();
            match self.read() {
                Token::Symbol(b'(') => depth += 1,
                Token::Symbol(b')') => depth = depth.saturating_sub(1),
                Token::Symbol(b',') if depth == 0 => {
                    *self = before;
                    return;
                }
                Token::Symbol(b';') | Token::End => {
                    *self = before;
                    return;
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
