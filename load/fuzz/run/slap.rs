//! The `slap` target under libFuzzer.

#![no_main]

#[path = "../targets/slap.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
