//! SET: of the server's variables, and of a session's.

use super::items::variable;
use super::{Assignment, Strange, Understanding, Understood, name};
use crate::tokens::{Token, Tokens};

pub(super) fn set<'s>(tokens: &mut Tokens<'s>) -> Understanding<'s, Understood<'s>> {
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

fn setting<'s>(tokens: &mut Tokens<'s>) -> Understanding<'s, Setting<'s>> {
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

fn wants_equals<'s>(tokens: &mut Tokens<'s>) -> Understanding<'s, ()> {
    tokens.takes(Token::Symbol(b':'));
    tokens.wants(Token::Symbol(b'='))
}
