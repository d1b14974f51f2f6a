//! The `tokens` target under libFuzzer.

#![no_main]

#[path = "../targets/tokens.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
