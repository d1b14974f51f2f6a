//! The functions for `load/lua/api`: each reads its arguments off the stack, does one thing with
//! the context, and pushes the result.

/// Lists the functions of a file: the name of each in the table of host functions, and itself.
macro_rules! functions {
    ($($name:literal: $function:expr,)*) => {
        pub const FUNCTIONS: &[crate::lua::api::ApiEntry] = &[$(($name, {
            unsafe extern "C-unwind" fn called(
                lua: *mut crate::lua::sys::lua_State,
            ) -> crate::lua::api::Pushed {
                // SAFETY: Lua calls with its state.
                let (mut stack, cx) = unsafe { crate::lua::api::enter(lua) };
                $function(&mut stack, cx)
            }
            called
        }),)*];
    };
}

mod events;
mod fill;
mod histogram;
mod params;
mod process;
mod rand;
mod rows;
mod sql;

use super::context::Context;
use super::options::OptionValue;
use super::run::Run;
use super::sql::{Connection, HandleKind, ScriptStatement};
use super::stack::Stack;
use super::sys::{lua_CFunction, lua_State};
use std::ffi::{c_int, c_void};

/// A function of the interface: its name in the table of host functions, and itself.
type ApiEntry = (&'static str, lua_CFunction);

/// Pushes the table that each file of the interface is called with.
pub fn push_host(stack: &mut Stack<'_>, run: &Run) {
    let all = [
        events::FUNCTIONS,
        rand::FUNCTIONS,
        sql::FUNCTIONS,
        rows::FUNCTIONS,
        params::FUNCTIONS,
        histogram::FUNCTIONS,
        process::FUNCTIONS,
        fill::FUNCTIONS,
    ];
    stack.push_table(0, 96);
    stack.push_function(process::part);
    stack.set_field("part");
    for (name, function) in all.into_iter().flatten() {
        stack.push_function(*function);
        stack.set_field(name);
    }
    // SAFETY: the state is ours; nothing else uses its context while it is set up.
    let context = unsafe { Context::of(stack.raw()) };
    stack.push_number(context.thread.into());
    stack.set_field("thread_id");
    stack.push_address((&raw mut *context).cast());
    stack.set_field("context");
    stack.push_address(rand::uint64_address());
    stack.set_field("rand_uint64_address");
    let name = run.script.name.as_deref();
    let texts = [
        ("version", Some(run.compat.version())),
        ("compat", Some(run.compat.name())),
        ("script_path", name),
        ("command", run.command.as_deref()),
        ("luajit_command", Some(run.known.text("luajit_cmd"))),
    ];
    for (field, text) in texts {
        if let Some(text) = text {
            stack.push_bytes(text.as_bytes());
            stack.set_field(field);
        }
    }
    if run.figures.threads.len() >= THREADS_MANY {
        stack.push_number(HOT_LOOP.into());
        stack.set_field("hot_loop");
    }
    stack.push_flag(run.script.bundled);
    stack.set_field("bundled");
    stack.push_table(run.arguments.len(), 0);
    for (place, argument) in run.arguments.iter().enumerate() {
        stack.push_bytes(argument.as_bytes());
        stack.set_place(place);
    }
    stack.set_field("arguments");
}

/// From this number of threads on, each state's own machine code costs more, in a cache that all
/// share, than it saves.
const THREADS_MANY: usize = 32;
/// Rounds before a loop becomes machine code where threads are many; the counter has 16 bits.
const HOT_LOOP: u32 = 32_000;

/// Pushes what becomes `sysbench.opt`: every option with its value.
pub fn push_options(stack: &mut Stack<'_>, run: &Run) {
    stack.push_table(0, 64);
    for (name, value) in run.options().iter() {
        push_value(stack, value);
        stack.set_field(name);
    }
}

/// Pushes an option's value, as scripts see it.
pub fn push_value(stack: &mut Stack<'_>, value: &OptionValue) {
    match value {
        OptionValue::Bool(flag) => stack.push_flag(*flag),
        OptionValue::Int(number) => stack.push_number(*number as f64),
        OptionValue::Double(number) => stack.push_number(*number),
        OptionValue::Str(text) => stack.push_bytes(text.as_bytes()),
        OptionValue::List(items) => {
            stack.push_table(items.len(), 0);
            for (place, item) in items.iter().enumerate() {
                stack.push_bytes(item.as_bytes());
                stack.set_place(place + 1);
            }
        }
    }
}

/// The stack and the context of a call.
///
/// # Safety
/// `lua` is what Lua called the function with. The context is borrowed until the function
/// returns, so it must not run what calls the interface while it uses it.
#[inline]
unsafe fn enter<'a>(lua: *mut lua_State) -> (Stack<'a>, &'a mut Context) {
    // SAFETY: as the caller promises.
    unsafe { (Stack::new(lua), Context::of(lua)) }
}

/// The handle at `index`: a pointer of the FFI to a head that says it is of `kind`. A value of a
/// foreign type is not followed, but compared with all handles that the host has given out: scripts
/// can make any number a value of the FFI.
#[inline]
fn handle(stack: &Stack<'_>, cx: &Context, index: c_int, kind: HandleKind) -> Option<*mut c_void> {
    let (type_number, head) = stack.typed_pointer(index)?;
    let types = &cx.handle_types;
    if types.get(kind.place()) != Some(&type_number) && !cx.has_given_out(head.addr()) {
        return None;
    }
    // SAFETY: it is of a type whose values are addresses of heads, or the address of one.
    let is_one = !head.is_null() && head.is_aligned() && unsafe { *head } == kind as u32;
    is_one.then_some(head.cast())
}

/// The connection whose handle is at `index`. It lives as long as its state, and nothing else refers
/// to it during a call.
#[inline]
fn connection<'a>(stack: &Stack<'_>, cx: &Context, index: c_int) -> Option<&'a mut Connection> {
    let handle = handle(stack, cx, index, HandleKind::Connection)?;
    // SAFETY: a handle of this kind points to a connection.
    Some(unsafe { &mut *handle.cast() })
}

/// As [`connection`], a statement.
#[inline]
fn statement<'a>(stack: &Stack<'_>, cx: &Context, index: c_int) -> Option<&'a mut ScriptStatement> {
    let handle = handle(stack, cx, index, HandleKind::Statement)?;
    // SAFETY: a handle of this kind points to a statement.
    Some(unsafe { &mut *handle.cast() })
}

/// Raises an error for wrong arguments, blaming the caller's caller.
fn wrong(stack: &mut Stack<'_>, function: &str, wanted: &str) -> Pushed {
    let words = format!("bad argument to '{function}' ({wanted} expected)");
    stack.raise(2, &words)
}

/// The return value of a function: the number of values it pushed.
type Pushed = c_int;
