//! Selects without a table.

use super::{Item, ItemValue, Understanding, ends, name, wants};
use contend_sql::{TokenKind, Tokens};

pub(super) fn items<'s>(tokens: &mut Tokens<'s>) -> Option<Vec<Item<'s>>> {
    let mut items = Vec::new();
    loop {
        let start = tokens.clone().read()?.start;
        let given = given(tokens)?;
        let mut called = tokens.between(start, tokens.place());
        if tokens.takes_word(b"AS") {
            called = name(tokens).ok()?;
        }
        items.push(Item {
            given,
            name: called,
        });
        if !tokens.takes(b",") {
            break;
        }
    }
    if tokens.takes_word(b"LIMIT") {
        tokens
            .read()
            .filter(|token| token.kind == TokenKind::Number)?;
    }
    ends(&mut tokens.clone()).then_some(items)
}

fn given<'s>(tokens: &mut Tokens<'s>) -> Option<ItemValue<'s>> {
    let token = tokens.read()?;
    Some(match token.kind {
        TokenKind::Number => ItemValue::Number(std::str::from_utf8(token.text).ok()?.parse().ok()?),
        TokenKind::Text => ItemValue::Text(token.inner()),
        TokenKind::Operator if token.text == b"@@" => {
            let (_, name) = variable(tokens).ok()?;
            ItemValue::Variable(name)
        }
        TokenKind::Word => {
            const CALLS: [(&[u8], ItemValue<'_>); 7] = [
                (b"VERSION", ItemValue::Version),
                (b"CONNECTION_ID", ItemValue::ConnectionId),
                (b"DATABASE", ItemValue::Database),
                (b"SCHEMA", ItemValue::Database),
                (b"USER", ItemValue::User),
                (b"CURRENT_USER", ItemValue::User),
                (b"NULL", ItemValue::Null),
            ];
            let call = CALLS.iter().find(|call| token.is_word(call.0))?;
            if call.1 != ItemValue::Null {
                wants(tokens, b"(").ok()?;
                wants(tokens, b")").ok()?;
            }
            call.1
        }
        _ => return None,
    })
}

/// What follows `@@`: whether it is the server's, and its name.
pub(super) fn variable<'s>(tokens: &mut Tokens<'s>) -> Understanding<'s, (bool, &'s [u8])> {
    let first = name(tokens)?;
    let scope = |word: &[u8]| first.eq_ignore_ascii_case(word);
    let is_global = scope(b"GLOBAL");
    if is_global || scope(b"SESSION") || scope(b"LOCAL") {
        wants(tokens, b".")?;
        return Ok((is_global, name(tokens)?));
    }
    Ok((false, first))
}
