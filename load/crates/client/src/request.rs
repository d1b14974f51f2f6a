//! A request as the driver of a session sees it: its class, the part of its answer that is needed,
//! and what it ends.

/// In which protocol sessions write their requests, by its name. A dialect declares its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestProtocol(pub &'static str);

impl RequestProtocol {
    /// MySQL's client protocol, with statements of SQL.
    pub const SQL: Self = Self("sql");
}

/// How to treat the request in the output buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub link: LinkNumber,
    pub class: Class,
    pub reply: Reply,
    /// If set, a good answer to this request ends the event, and the session is not called with
    /// that answer.
    pub ends: Option<Ending>,
}

/// How an event ended well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// The place in [`Workload::kinds`].
    pub kind: u8,
    /// The event rolled back its transaction on purpose.
    pub rolled_back: bool,
}

/// Under which class a query is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The place in [`Workload::classes`].
    Of(u8),
    /// By its answer: a result set is class 0 (read), affected rows make it class 1 (write),
    /// anything else is class 2 (other).
    ByAnswer,
    /// Not counted: preparing, closing and the like.
    Uncounted,
}

/// The part of the answer that the session needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Whether it is good, and how many rows.
    Counts,
    /// Whether it is good, and how many rows changed. For a protocol whose answers look the same
    /// for rows that changed and rows that were found.
    Changed,
    /// Like [`Self::Counts`], summed over this number of requests that are sent at once.
    Several(u32),
    /// Every byte of it: [`Answer::bytes`].
    Whole,
    /// It answers COM_STMT_PREPARE: [`Answer::prepared`].
    Prepared,
    /// None is coming: COM_STMT_CLOSE. The session is called with an empty answer at once.
    Nothing,
}

/// Number of a connection within its session. A session has at most [`LINKS_MAX`] connections.
pub type LinkNumber = u16;

pub const LINKS_MAX: usize = LinkNumber::MAX as usize + 1;
