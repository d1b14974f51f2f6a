//! Servers of ours: one that answers without looking, one whose truth is known, a line that delays
//! bytes, and one that reports its clocks.

pub mod clock;
pub mod far;
pub mod model_server;
pub mod null_server;
