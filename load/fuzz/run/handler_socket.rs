//! The `handler_socket` target under libFuzzer.

#![no_main]

#[path = "../targets/handler_socket.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
