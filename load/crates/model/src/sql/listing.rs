//! What asks for one of the server's own lists.

use super::{Condition, ListName, Listed, Strange, Understanding, Understood, name, table_name};
use super::{wants, wants_word};
use contend_sql::{TokenKind, Tokens};

/// A select from one of the server's own lists.
pub(super) fn listed<'s>(tokens: &mut Tokens<'s>) -> Understanding<'s, Understood<'s>> {
    let mut columns = Vec::new();
    if !tokens.takes(b"*") {
        loop {
            columns.push(name(tokens)?);
            if !tokens.takes(b",") {
                break;
            }
        }
    }
    wants_word(tokens, b"FROM")?;
    let table = table_name(tokens)?;
    if !table.is_schema() {
        return Err(Strange::Other);
    }
    let list = match table.table {
        name if name.eq_ignore_ascii_case(b"KEY_CACHES") => ListName::KeyCaches,
        name if name.eq_ignore_ascii_case(b"SYSTEM_VARIABLES") => ListName::SystemVariables,
        name => return Err(Strange::SchemaTable(name)),
    };
    let conditions = conditions(tokens)?;
    Ok(Understood::Listed(Listed {
        list,
        columns,
        conditions,
    }))
}

pub(super) fn show<'s>(tokens: &mut Tokens<'s>) -> Understanding<'s, Understood<'s>> {
    let has_scope = [&b"GLOBAL"[..], b"SESSION", b"LOCAL"]
        .into_iter()
        .any(|scope| tokens.takes_word(scope));
    let what = name(tokens)?;
    let is = |word: &[u8]| what.eq_ignore_ascii_case(word);
    let list = if is(b"STATUS") {
        ListName::Status
    } else if is(b"VARIABLES") {
        ListName::Variables
    } else if has_scope {
        return Err(Strange::Other);
    } else if is(b"WARNINGS") || is(b"ERRORS") {
        ListName::Warnings
    } else if is(b"DATABASES") || is(b"SCHEMAS") {
        ListName::Databases
    } else if is(b"TABLES") {
        ListName::Tables
    } else {
        return Err(Strange::Other);
    };
    let conditions = match list {
        ListName::Warnings => Vec::new(),
        _ if tokens.takes_word(b"LIKE") => {
            let pattern = text(tokens)?;
            let column = match list {
                ListName::Databases => &b"Database"[..],
                ListName::Tables => b"Tables_in_sbtest",
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
fn conditions<'s>(tokens: &mut Tokens<'s>) -> Understanding<'s, Vec<Condition<'s>>> {
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

fn condition<'s>(tokens: &mut Tokens<'s>) -> Understanding<'s, Condition<'s>> {
    let column = name(tokens)?;
    if tokens.takes_word(b"IS") {
        let wanted = !tokens.takes_word(b"NOT");
        wants_word(tokens, b"NULL")?;
        return Ok(Condition::Null { column, wanted });
    }
    if tokens.takes_word(b"LIKE") {
        let pattern = text(tokens)?;
        return Ok(Condition::Like { column, pattern });
    }
    let mut wanted = !tokens.takes_word(b"NOT");
    let mut values = Vec::new();
    if tokens.takes_word(b"IN") {
        wants(tokens, b"(")?;
        loop {
            values.push(literal(tokens)?);
            if !tokens.takes(b",") {
                break;
            }
        }
        wants(tokens, b")")?;
    } else {
        if !wanted {
            return Err(Strange::Other);
        }
        if tokens.takes(b"<>") {
            wanted = false;
        } else {
            wants(tokens, b"=")?;
        }
        values.push(literal(tokens)?);
    }
    Ok(Condition::In {
        column,
        values,
        wanted,
    })
}

fn text<'s>(tokens: &mut Tokens<'s>) -> Understanding<'s, &'s [u8]> {
    match tokens.read() {
        Some(token) if token.kind == TokenKind::Text => Ok(token.inner()),
        _ => Err(Strange::Other),
    }
}

fn literal<'s>(tokens: &mut Tokens<'s>) -> Understanding<'s, &'s [u8]> {
    match tokens.read() {
        Some(token) if matches!(token.kind, TokenKind::Text | TokenKind::Number) => {
            Ok(token.inner())
        }
        _ => Err(Strange::Other),
    }
}
