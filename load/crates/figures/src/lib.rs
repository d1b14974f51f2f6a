//! What the workers count, and how it is put together.
//!
//! Each worker owns one [`Tally`] and hands it over whole at the edge of an interval, so the
//! request loop shares nothing. Tallies merge by addition, which loses nothing. The figures of the
//! window are the sum of its intervals, and those of a run on several hosts are the sum of the
//! hosts'. Nothing here draws from a random stream or reads a clock.
//!
//! ```
//! let mut latency = contend_figures::Latency::new();
//! latency.record_ns(250_000);
//! assert_eq!(latency.percentiles_us().count, 1);
//! ```

mod counts;
mod errors;
mod hdr_log;
mod latency;
pub mod outcome;
mod sum;
mod tally;

pub use counts::{COUNTERS, Counter, Reading};
pub use errors::{ErrorTally, IgnoredErrors};
pub use hdr_log::HdrLog;
pub use latency::Latency;
pub use sum::Sum;
pub use tally::{ClassTally, KindTally, NodeTally, OpenTally, Query, Tally, TallyShape};
