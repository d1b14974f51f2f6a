//! Formats of logs, a module for each, and the one that a log has.

mod audit;
pub mod ends;
mod general;
mod lines;
mod maxscale;
pub mod modes;
mod proxysql;
mod slow;
mod table;
mod tiproxy;

use crate::entry::LogReader;
use contend_sql::Mode;

/// A format of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Slow,
    General,
    Table,
    Audit,
    ProxySql,
    MaxScale,
    TiProxy,
}

impl LogFormat {
    /// All of them, each with its name.
    pub const ALL: [(&'static str, Self); 7] = [
        ("slow", Self::Slow),
        ("general", Self::General),
        ("table", Self::Table),
        ("audit", Self::Audit),
        ("proxysql", Self::ProxySql),
        ("maxscale", Self::MaxScale),
        ("tiproxy", Self::TiProxy),
    ];

    pub fn name(self) -> &'static str {
        let known = Self::ALL.iter().find(|(_, format)| *format == self);
        known.map_or("", |(name, _)| name)
    }

    /// The format that the beginning of a log looks like.
    pub fn of_beginning(beginning: &[u8]) -> Option<Self> {
        type LooksLike = fn(&[u8]) -> bool;
        let of_first: [(LooksLike, Self); 4] = [
            (proxysql::begins_with, Self::ProxySql),
            (audit::begins_with, Self::Audit),
            (maxscale::begins_with, Self::MaxScale),
            (tiproxy::begins_with, Self::TiProxy),
        ];
        // The first line that is of one of these tells: later ones may be part of a text.
        let of_any: [(LooksLike, Self); 3] = [
            (slow::is_head, Self::Slow),
            (general::is_stamped, Self::General),
            (table::is_line, Self::Table),
        ];
        let mut lines = beginning.split(|byte| *byte == b'\n');
        let first = of_first.iter().find(|(begins, _)| begins(beginning));
        let known =
            first.or_else(|| lines.find_map(|line| of_any.iter().find(|(is_one, _)| is_one(line))));
        known.map(|(_, format)| *format)
    }

    /// A reader of it; quotes are read in this mode unless a session sets its own.
    pub fn reader(self, mode: Mode) -> Box<dyn LogReader> {
        match self {
            Self::Slow => Box::new(slow::SlowLog::new(mode)),
            Self::General => Box::new(general::GeneralLog::new(mode)),
            Self::Table => Box::new(table::TableLog::new(mode)),
            Self::Audit => Box::new(audit::AuditLog::new(mode)),
            Self::ProxySql => Box::new(proxysql::ProxySqlLog::default()),
            Self::MaxScale => Box::new(maxscale::MaxScaleLog::new(mode)),
            Self::TiProxy => Box::new(tiproxy::TiProxyLog::default()),
        }
    }
}
