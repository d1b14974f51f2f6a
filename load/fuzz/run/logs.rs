//! The `logs` target under libFuzzer.

#![no_main]

#[path = "../targets/logs.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
