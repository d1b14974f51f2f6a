//! The `model` target under libFuzzer.

#![no_main]

#[path = "../targets/model.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
