//! Selects of points, which a load asks again and again: they are read without an allocation.

use super::{PointKey, PointKeys, PointSelect, SbtestColumn, Selected, Strange, TableName};
use super::{Understanding, name, table_name, wants, wants_word};
use contend_sql::{TokenKind, Tokens};

/// None if it is not a select of points at all.
pub(super) fn points<'s>(tokens: &mut Tokens<'s>) -> Option<Understanding<'s, PointSelect<'s>>> {
    let mut selected = Selected::none();
    let mut unknown = None;
    if tokens.takes(b"*") {
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
            if !tokens.takes(b",") {
                break;
            }
        }
    }
    wants_word(tokens, b"FROM").ok()?;
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
) -> Understanding<'s, PointSelect<'s>> {
    wants_word(tokens, b"WHERE")?;
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
    wants(tokens, if is_list { b"(" } else { b"=" })?;
    let keys = PointKeys {
        tokens: tokens.clone(),
        has_more: true,
    };
    loop {
        point_key(tokens).ok_or(Strange::Other)?;
        if !is_list {
            break;
        }
        if !tokens.takes(b",") {
            wants(tokens, b")")?;
            break;
        }
    }
    Ok(PointSelect {
        selected,
        table,
        by_id,
        keys,
    })
}

#[inline]
pub(super) fn point_key(tokens: &mut Tokens<'_>) -> Option<PointKey> {
    let mut token = tokens.read()?;
    let is_negative = token.is_operator(b"-");
    if is_negative {
        token = tokens.read()?;
    }
    let number = match token.kind {
        TokenKind::Placeholder if !is_negative => return Some(PointKey::Bound),
        TokenKind::Number => key(token.text)?,
        // A number in quotes is a number to a server.
        TokenKind::Text if !is_negative && !token.inner().is_empty() => key(token.inner())?,
        _ => return None,
    };
    Some(PointKey::Key(
        number.filter(|key| !is_negative || *key == 0),
    ))
}

/// A whole number, which may match no row; none if it is not a whole number.
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
