//! SET: of the server's variables, and of a session's.

use super::items::variable;
use super::{Assignment, Strange, Understanding, Understood, name, wants};
use contend_sql::{TokenKind, Tokens};

pub(super) fn set<'s>(tokens: &mut Tokens<'s>) -> Understanding<'s, Understood<'s>> {
    if tokens.takes_word(b"NAMES") || tokens.takes_word(b"CHARSET") {
        skip_value(tokens);
        return Ok(Understood::SetSession(Vec::new()));
    }
    let (mut global, mut session) = (Vec::new(), Vec::new());
    loop {
        match setting(tokens)? {
            Setting::Global(assignment) => global.push(assignment),
            Setting::Session(name) => session.push(name),
            Setting::Nothing => {}
        }
        if !tokens.takes(b",") {
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
    let (is_global, name) = if tokens.takes(b"@@") {
        variable(tokens)?
    } else if tokens.takes(b"@") {
        // A variable of the client's own: nothing here reads it.
        name(tokens)?;
        wants_equals(tokens)?;
        skip_value(tokens);
        return Ok(Setting::Nothing);
    } else {
        let is_global = tokens.takes_word(b"GLOBAL");
        if !is_global && !tokens.takes_word(b"SESSION") {
            tokens.takes_word(b"LOCAL");
        }
        if tokens.takes_word(b"TRANSACTION") {
            // Its properties, with commas between them.
            skip_value(tokens);
            while tokens.takes(b",") {
                skip_value(tokens);
            }
            return Ok(Setting::Nothing);
        }
        (is_global, name(tokens)?)
    };
    wants_equals(tokens)?;
    if !is_global {
        skip_value(tokens);
        return Ok(Setting::Session(name));
    }
    match tokens.read() {
        Some(value)
            if matches!(
                value.kind,
                TokenKind::Text | TokenKind::Number | TokenKind::Word
            ) =>
        {
            let value = value.inner();
            Ok(Setting::Global(Assignment { name, value }))
        }
        _ => Err(Strange::Other),
    }
}

fn wants_equals<'s>(tokens: &mut Tokens<'s>) -> Understanding<'s, ()> {
    if tokens.takes(b":=") {
        return Ok(());
    }
    wants(tokens, b"=")
}

/// Up to the next comma that is in no parentheses, or the end.
fn skip_value(tokens: &mut Tokens<'_>) {
    let mut depth = 0usize;
    let mut after = tokens.clone();
    while let Some(token) = after.read() {
        match token.text {
            b"(" => depth += 1,
            b")" => depth = depth.saturating_sub(1),
            b"," if depth == 0 => return,
            b";" => return,
            _ => {}
        }
        *tokens = after.clone();
    }
}
