//! The `answer` target under libFuzzer.

#![no_main]

#[path = "../targets/answer.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
