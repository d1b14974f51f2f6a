//! A prepared statement of a script, on the server or emulated, and the values bound to it.

use super::emulate::Template;
use super::faces::StatementFace;
use super::param::{Param, RawBind};
use contend_wire::Value;
use contend_wire::mysql;
use std::ffi::c_int;

/// A statement. Scripts hold a pointer to its head, so it never moves.
#[derive(Debug)]
#[repr(C)]
pub struct ScriptStatement {
    pub face: StatementFace,
    /// Lua's reference to what keeps the bound parameters alive; 0: none.
    pub anchor: c_int,
    pub(super) sql: Vec<u8>,
    pub(super) how: How,
    pub(super) bound: Bound,
    pub(super) is_closed: bool,
}

#[derive(Debug)]
pub(super) enum How {
    /// Prepared on the server, in that generation of the connection.
    Server {
        statement: mysql::PreparedStatement,
        generation: u32,
    },
    Emulated(Template),
}

/// The source of the values.
#[derive(Debug)]
pub(super) enum Bound {
    Params(Vec<*const Param>),
    Raw(Vec<RawBind>),
}

impl ScriptStatement {
    /// Takes its values from now on from these parameters.
    pub fn bind(&mut self, params: Vec<*const Param>) {
        self.bound = Bound::Params(params);
    }

    /// Takes its values from now on from where a script's structures point.
    pub fn bind_raw(&mut self, raw: Vec<RawBind>) {
        self.bound = Bound::Raw(raw);
    }
}

impl Bound {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Params(params) => params.len(),
            Self::Raw(raw) => raw.len(),
        }
    }

    /// # Safety
    /// All bound values are alive.
    #[inline]
    pub(super) unsafe fn value(&self, place: usize) -> Value<'_> {
        match self {
            Self::Params(params) => match params.get(place) {
                // SAFETY: as the caller promises.
                Some(param) => unsafe { (**param).value() },
                None => Value::Null,
            },
            Self::Raw(raw) => match raw.get(place) {
                // SAFETY: as the caller promises.
                Some(raw) => unsafe { raw.value() },
                None => Value::Null,
            },
        }
    }
}
