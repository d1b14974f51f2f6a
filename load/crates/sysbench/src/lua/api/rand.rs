//! Random numbers and texts, from the stream of the thread that asks.

use super::Pushed;
use crate::lua::context::Context;
use crate::lua::stack::Stack;
use contend_random::Shape;
use std::ffi::c_void;

functions! {
    "rand_default": default,
    "rand_uniform": uniform,
    "rand_gaussian": gaussian,
    "rand_special": special,
    "rand_pareto": pareto,
    "rand_zipfian": zipfian,
    "rand_unique": unique,
    "rand_unique_in": unique_in,
    "rand_uniform_double": uniform_double,
    "rand_string": string,
    "rand_varstring": varstring,
}

/// Bytes of `varstring`: sysbench draws from the same.
const VARSTRING_BYTES: std::ops::RangeInclusive<u8> = 0x30..=0x7a;
/// Longest text that is made; a script that asks for more gets this much.
const VARSTRING_MAX: u64 = 1 << 24;

macro_rules! draws {
    ($($name:ident: $shape:expr;)*) => {$(
        fn $name(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
            let shape: fn(&Context) -> Shape = $shape;
            let shape = shape(cx);
            let number = shape.draw(&mut cx.stream, bound(stack, 1), bound(stack, 2));
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
fn unique(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let number = scatter(next_place(cx), u32::BITS);
    stack.push_number(number as f64);
    1
}

/// `rand_unique_in(low, high)`: the same within a range. No number comes twice before a thread has
/// drawn its share of the range.
fn unique_in(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let (low, high) = (bound(stack, 1), bound(stack, 2));
    let count = high.saturating_sub(low).saturating_add(1);
    let number = low + scatter_below(next_place(cx) % count, count);
    stack.push_number(number as f64);
    1
}

/// The next number of the thread's own residue class, before it is scattered. So a seed gives each
/// thread the same numbers again, independent of the threads' speeds.
fn next_place(cx: &mut Context) -> u64 {
    let threads = cx.run.figures.threads.len().max(1) as u64;
    let place = cx.unique_drawn * threads + u64::from(cx.thread) % threads;
    cx.unique_drawn += 1;
    place.wrapping_add(cx.run.draws.seed & u64::from(u32::MAX))
}

/// A permutation of the numbers below `count`: that of the next power of two, repeated until the
/// result is below `count`, on average within two steps.
fn scatter_below(number: u64, count: u64) -> u64 {
    let bits = u64::BITS - (count - 1).leading_zeros();
    let mut number = scatter(number, bits);
    while number >= count {
        number = scatter(number, bits);
    }
    number
}

/// A permutation of the numbers with this many bits: each step can be undone.
fn scatter(number: u64, bits: u32) -> u64 {
    let mask = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
    let (half, less) = ((bits / 2).max(1), (bits / 2).saturating_sub(1).max(1));
    let mut word = number & mask;
    word = (word ^ (word >> half)).wrapping_mul(0x7feb_352d) & mask;
    word = (word ^ (word >> less)).wrapping_mul(0x846c_a68b) & mask;
    word ^ (word >> half)
}

fn uniform_double(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    stack.push_number(cx.stream.unit());
    1
}

/// `string(format)`: `#` becomes a digit, `@` a letter. nil where the format is not a text.
fn string(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
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
fn varstring(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let length = cx
        .stream
        .uniform(bound(stack, 1), bound(stack, 2))
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
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::lua::State;
    use crate::lua::testing::{Nowhere, run_of, state_of};
    use std::collections::HashSet;
    use std::sync::Arc;

    #[test]
    fn scattered_numbers_do_not_meet() {
        for bits in 0..=16 {
            let numbers: HashSet<u64> = (0..1 << bits).map(|n| scatter(n, bits)).collect();
            assert!(numbers.len() == 1 << bits && numbers.iter().all(|n| n >> bits == 0));
        }
        for bits in [32, 53, 64] {
            let numbers: HashSet<u64> = (0..100_000).map(|n| scatter(n, bits)).collect();
            assert_eq!(numbers.len(), 100_000);
        }
        for count in [1, 2, 3, 5, 1000, 4097] {
            let numbers: HashSet<u64> = (0..count).map(|n| scatter_below(n, count)).collect();
            assert!(numbers.len() as u64 == count && numbers.iter().all(|n| *n < count));
        }
        assert!(scatter_below(u64::MAX - 1, u64::MAX) < u64::MAX);
    }

    #[test]
    fn unique_numbers_of_a_range_come_once() {
        let script = "
            function draws(count, low, high)
              for _ = 1, count do
                local number = sb_rand_uniq(low, high)
                assert(number >= low and number <= high and number % 1 == 0)
                assert(not drawn[number], number)
                drawn[number] = true
              end
            end
            function draws_much() drawn = {} draws(300000, 1, 1000000000) end
            function draws_all() drawn = {} draws(700, 4294967000, 4294967699) end
            function draws_one() drawn = {} draws(1, 7, 7) end
            function draws_of_none() drawn = {} draws(1, 7, 7) assert(sb_rand_uniq(9, 3) == 9) end
        ";
        let state = state_of(&run_of(script, 1));
        for function in ["draws_much", "draws_all", "draws_one", "draws_of_none"] {
            state.call(function, &[]).unwrap();
        }
    }

    #[test]
    fn threads_share_the_unique_numbers_of_a_range() {
        let run = run_of("function event() number = sb_rand_uniq(1, 1000) end", 4);
        let mut drawn = HashSet::new();
        for thread in 0..4 {
            let state = State::new(Arc::clone(&run), thread, Box::new(Nowhere)).unwrap();
            state.run_script().unwrap();
            for _ in 0..250 {
                state.call("event", &[]).unwrap();
                let number = state.protected(|stack| {
                    stack.push_global("number");
                    Ok(stack.integer(-1))
                });
                assert!(drawn.insert(number.unwrap()));
            }
        }
        assert_eq!(drawn.len(), 1000);
    }
}
