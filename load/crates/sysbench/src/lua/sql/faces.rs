//! The part of our handles that scripts see through the FFI: the head of each, laid out as C.
//!
//! `load/lua/api/sql.lua` declares the same structures. A handle is a pointer to a head, which
//! names the kind of the handle. So one passed in the place of another is refused.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// The kinds of handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum HandleKind {
    Driver = 0x5342_4401,
    Connection = 0x5342_4302,
    Statement = 0x5342_5303,
    Result = 0x5342_5204,
}

impl HandleKind {
    pub const COUNT: usize = 4;

    /// Its place among all kinds.
    #[inline]
    pub fn place(self) -> usize {
        match self {
            Self::Driver => 0,
            Self::Connection => 1,
            Self::Statement => 2,
            Self::Result => 3,
        }
    }
}

#[derive(Debug)]
#[repr(C)]
pub struct DriverFace {
    kind: HandleKind,
}

impl Default for DriverFace {
    fn default() -> Self {
        Self {
            kind: HandleKind::Driver,
        }
    }
}

/// How grave the last error of a connection is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub enum Gravity {
    #[default]
    None = 0,
    Ignorable = 1,
    Fatal = 2,
}

#[derive(Debug)]
#[repr(C)]
pub struct ConnectionFace {
    kind: HandleKind,
    pub error: Gravity,
    pub sql_errno: c_int,
    pub sql_state: *const c_char,
    pub sql_errmsg: *const c_char,
    pub driver: *const DriverFace,
}

impl ConnectionFace {
    pub fn new(driver: *const DriverFace) -> Self {
        Self {
            kind: HandleKind::Connection,
            error: Gravity::None,
            sql_errno: 0,
            sql_state: ptr::null(),
            sql_errmsg: ptr::null(),
            driver,
        }
    }
}

#[derive(Debug)]
#[repr(C)]
pub struct StatementFace {
    kind: HandleKind,
    pub connection: *mut ConnectionFace,
}

impl StatementFace {
    pub fn new(connection: *mut ConnectionFace) -> Self {
        Self {
            kind: HandleKind::Statement,
            connection,
        }
    }
}

/// One value of a row, for scripts that read rows through the FFI.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RowValue {
    pub length: u32,
    pub bytes: *const c_char,
}

#[derive(Debug)]
#[repr(C)]
pub struct ResultFace {
    kind: HandleKind,
    /// The counter under which the query fell.
    pub counter: c_int,
    pub rows: u32,
    pub fields: u32,
    pub statement: *mut StatementFace,
    pub row_pointer: *mut c_void,
    pub row_values: *mut RowValue,
}

impl Default for ResultFace {
    fn default() -> Self {
        Self {
            kind: HandleKind::Result,
            counter: 0,
            rows: 0,
            fields: 0,
            statement: ptr::null_mut(),
            row_pointer: ptr::null_mut(),
            row_values: ptr::null_mut(),
        }
    }
}
