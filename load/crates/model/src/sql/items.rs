//! Selects without a table.

use super::{Item, ItemValue, Understanding, name};
use crate::tokens::{Token, Tokens};

pub(super) fn items<'s>(tokens: &mut Tokens<'s>) -> Option<Vec<Item<'s>>> {
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

fn given<'s>(tokens: &mut Tokens<'s>) -> Option<ItemValue<'s>> {
    Some(match tokens.read() {
        Token::Number(digits) => ItemValue::Number(std::str::from_utf8(digits).ok()?.parse().ok()?),
        Token::Text(text) => ItemValue::Text(text),
        Token::Variable => {
            let (_, name) = variable(tokens).ok()?;
            ItemValue::Variable(name)
        }
        Token::Word(word) => {
            const CALLS: [(&[u8], ItemValue<'_>); 7] = [
                (b"VERSION", ItemValue::Version),
                (b"CONNECTION_ID", ItemValue::ConnectionId),
                (b"DATABASE", ItemValue::Database),
                (b"SCHEMA", ItemValue::Database),
                (b"USER", ItemValue::User),
                (b"CURRENT_USER", ItemValue::User),
                (b"NULL", ItemValue::Null),
            ];
            let call = CALLS
                .iter()
                .find(|call| word.eq_ignore_ascii_case(call.0))?;
            if call.1 != ItemValue::Null {
                tokens.wants(Token::Symbol(b'(')).ok()?;
                tokens.wants(Token::Symbol(b')')).ok()?;
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
        tokens.wants(Token::Symbol(b'.'))?;
        return Ok((is_global, name(tokens)?));
    }
    Ok((false, first))
}
