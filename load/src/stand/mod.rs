//! Servers of ours: one that answers without looking, one whose truth is known, and a line that
//! delays what passes.

mod event_loop;
pub mod far;
pub mod model_server;
pub mod null_server;
