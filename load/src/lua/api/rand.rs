//! Random numbers and texts, from the stream of the thread that asks.

use super::{Entry, Pushed, enter};
use crate::lua::context::Context;
use crate::lua::stack::Stack;
use crate::lua::sys::lua_State;
use crate::random::Shape;
use std::ffi::c_void;

pub const FUNCTIONS: &[Entry] = &[
    (c"rand_default", default),
    (c"rand_uniform", uniform),
    (c"rand_gaussian", gaussian),
    (c"rand_special", special),
    (c"rand_pareto", pareto),
    (c"rand_zipfian", zipfian),
    (c"rand_unique", unique),
    (c"rand_uniform_double", uniform_double),
    (c"rand_string", string),
    (c"rand_varstring", varstring),
];

/// Bytes of `varstring`: what sysbench draws from.
const VARSTRING_BYTES: std::ops::RangeInclusive<u8> = 0x30..=0x7a;
/// Longest text that is made; a script that asks for more gets this much.
const VARSTRING_MAX: u64 = 1 << 24;

macro_rules! draws {
    ($($name:ident: $shape:expr;)*) => {$(
        unsafe extern "C-unwind" fn $name(lua: *mut lua_State) -> Pushed {
            // SAFETY: Lua calls with its state.
            let (stack, cx) = unsafe { enter(lua) };
            let shape: fn(&Context) -> Shape = $shape;
            let shape = shape(cx);
            let number = shape.draw(&mut cx.stream, bound(&stack, 1), bound(&stack, 2));
            stack.push_number(number as f64);
            1
        }
    )*};
}

draws! {
    default: |cx| cx.run.draws.default;
    uniform: |_| Shape::Uniform;
    gaussian: |cx| cx.run.draws.gaussian;
    special: |cx| cx.run.draws.special;
    pareto: |cx| cx.run.draws.pareto;
    zipfian: |cx| cx.run.draws.zipfian;
}

/// A bound of a range. Fractions are cut off; a negative number is what it is in 32 bits
/// without a sign, as under sysbench. Unlike there, ids beyond 2^32 keep their value.
#[inline]
fn bound(stack: &Stack<'_>, index: i32) -> u64 {
    let number = stack.number(index);
    if number < 0.0 {
        u64::from(number as i64 as u32)
    } else {
        number as u64
    }
}

/// A number that no thread of the run draws twice, in 32 bits.
///
/// Each thread walks its own residue class, then the numbers are scattered by a permutation: so
/// a seed gives each thread the same numbers again, whichever thread is quicker.
unsafe extern "C-unwind" fn unique(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (stack, cx) = unsafe { enter(lua) };
    let threads = cx.run.figures.threads.len().max(1) as u32;
    let place = cx
        .unique_drawn
        .wrapping_mul(threads)
        .wrapping_add(cx.thread % threads);
    cx.unique_drawn = cx.unique_drawn.wrapping_add(1);
    stack.push_number(scatter(place.wrapping_add(cx.run.draws.seed as u32)).into());
    1
}

/// A permutation of the 32-bit numbers: each step can be undone.
fn scatter(number: u32) -> u32 {
    let mut word = number;
    word = (word ^ (word >> 16)).wrapping_mul(0x7feb_352d);
    word = (word ^ (word >> 15)).wrapping_mul(0x846c_a68b);
    word ^ (word >> 16)
}

unsafe extern "C-unwind" fn uniform_double(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (stack, cx) = unsafe { enter(lua) };
    stack.push_number(cx.stream.unit());
    1
}

/// `string(format)`: `#` becomes a digit, `@` a letter. nil where the format is no text.
unsafe extern "C-unwind" fn string(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (stack, cx) = unsafe { enter(lua) };
    let Some(format) = stack.bytes(1) else {
        stack.push_nil();
        return 1;
    };
    let mut text = std::mem::take(&mut cx.text);
    text.clear();
    cx.stream.fill_template(format, &mut text);
    stack.push_bytes(&text);
    cx.text = text;
    1
}

/// `varstring(min, max)`: that many printable bytes.
unsafe extern "C-unwind" fn varstring(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (stack, cx) = unsafe { enter(lua) };
    let length = cx
        .stream
        .uniform(bound(&stack, 1), bound(&stack, 2))
        .min(VARSTRING_MAX);
    let (first, last) = (*VARSTRING_BYTES.start(), *VARSTRING_BYTES.end());
    let mut text = std::mem::take(&mut cx.text);
    text.clear();
    for _ in 0..length {
        text.push(cx.stream.uniform(first.into(), last.into()) as u8);
    }
    stack.push_bytes(&text);
    cx.text = text;
    1
}

/// The function that `sysbench.rand.uniform_uint64` calls through the FFI: Lua's own numbers do
/// not hold 64 bits.
pub fn uint64_address() -> *mut c_void {
    next_uint64 as *mut c_void
}

unsafe extern "C" fn next_uint64(context: *mut c_void) -> u64 {
    // SAFETY: the interface passes the context that `push_host` gave it.
    let context: &mut Context = unsafe { &mut *context.cast() };
    context.stream.next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn scattered_numbers_do_not_meet() {
        let numbers: HashSet<u32> = (0..100_000).map(scatter).collect();
        assert_eq!(numbers.len(), 100_000);
    }
}
