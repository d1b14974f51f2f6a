//! Logs of servers, read into recordings of their statements.
//!
//! A [`LogReader`] of one of the formats passes on the entries of a log. An [`Importer`] counts
//! those that cannot be sent again, and sorts the others into the file of a recording, which
//! [`RecordingFile`] reads. Texts are bytes, and the quotes in them are read by `contend_sql`.

mod boundary;
mod clock;
mod determined;
mod entry;
mod file;
pub mod formats;
mod import;
mod input;
mod names;
mod reads;
mod sample;
mod sendable;
mod sort;
mod stamp;
mod stored;
mod template;
#[cfg(test)]
mod testing;
mod times;
mod transactions;
mod undone;

pub use determined::{Determined, determined};
pub use entry::{
    EntryDatabase, EntryKind, Flaw, LogEntry, LogError, LogReader, LogStamp, TakeEntry,
};
pub use file::{RecordedSession, RecordingContents, RecordingFile, TemplateRow, latin1};
pub use import::{Imported, Importer, REASONS};
pub use input::{ENTRY_BYTES_MAX, LogInput};
pub use reads::only_reads;
pub use sample::spread;
pub use sendable::sql_mode;
pub use stored::StoredStatement;
pub use template::{StatementShape, Templates};
pub use transactions::{
    BlockStatement, RecordedTransactions, TransactionBlock, TransactionCounts, TransactionPart,
};
