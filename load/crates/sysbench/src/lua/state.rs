//! One Lua state with the interface in it: made, given a script, called, closed.

use super::chunks;
use super::context::Context;
use super::error::ScriptError;
use super::native_stack;
use super::options::{Declared, OptionType};
use super::protected::protected;
use super::run::Run;
use super::stack::Stack;
use super::sys::lua_State;
use super::thread_io::ThreadIo;
use super::{api, modules};
use crate::lua::sys;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

/// A Lua state and the host's side of it.
pub struct State {
    lua: NonNull<lua_State>,
    context: NonNull<Context>,
}

/// The result of calling a script's function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    Done,
    /// The script has no such function.
    Missing,
}

/// The threads that run a command of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    Alone,
    /// All threads, each for its part.
    Parallel,
}

impl State {
    /// A state with the interface, before the script.
    pub fn new(run: Arc<Run>, thread: u32, io: Box<dyn ThreadIo>) -> Result<Self, ScriptError> {
        let lowest = io.lowest_of_stack();
        let lowest = lowest.unwrap_or_else(native_stack::lowest_of_thread);
        let context = Box::leak(Box::new(Context::new(run, thread, io, lowest)));
        let context = NonNull::from(context);
        // SAFETY: the allocator finds its heap by the context, and both live as long as the state.
        let lua = unsafe { sys::lua_newstate(allocate, context.as_ptr().cast()) };
        let Some(lua) = NonNull::new(lua) else {
            // SAFETY: both were leaked when they were made, and nothing else refers to them.
            unsafe {
                drop(Box::from_raw(context.as_ref().heap));
                drop(Box::from_raw(context.as_ptr()));
            }
            return Err(ScriptError("no memory for another Lua state".to_owned()));
        };
        let state = Self { lua, context };
        state.open()?;
        Ok(state)
    }

    fn open(&self) -> Result<(), ScriptError> {
        let run = self.run();
        self.protected(|stack| {
            // SAFETY: the state is alive; loading libraries needs nothing of its stack. The
            // libraries stay loaded, so there is nothing to collect meanwhile.
            unsafe {
                sys::lua_gc(stack.raw(), sys::LUA_GCSTOP, 0);
                sys::luaL_openlibs(stack.raw());
                Context::of(stack.raw()).keep_originals(stack);
            }
            api::push_host(stack, &run);
            let host = stack.top();
            for (name, source) in chunks::API {
                push_chunk(stack, &run, &chunks::chunk_name_of(name), source.as_bytes())?;
                stack.push_copy(host);
                stack.call(1, 0)?;
            }
            stack.pop(1);
            modules::install(stack, &run.loaded);
            Ok(())
        })?;
        self.collect()
    }

    /// Runs the body of the run's script.
    pub fn run_script(&self) -> Result<(), ScriptError> {
        let run = self.run();
        self.protected(|stack| {
            push_chunk(stack, &run, &run.script.chunk_name, &run.script.source)?;
            stack.call(0, 0)
        })?;
        self.collect()
    }

    /// Frees memory that only the setup needed, so that later values take its place: each of a
    /// thousand states would keep it.
    fn collect(&self) -> Result<(), ScriptError> {
        self.protected(|stack| {
            // SAFETY: the state is alive. Finalisers of the script may run.
            unsafe {
                sys::lua_gc(stack.raw(), sys::LUA_GCCOLLECT, 0);
                sys::lua_gc(stack.raw(), sys::LUA_GCRESTART, -1);
            }
            Ok(())
        })
    }

    /// Gives the script `sysbench.opt`.
    pub fn show_options(&self) -> Result<(), ScriptError> {
        let run = self.run();
        self.protected(|stack| {
            push_sysbench(stack)?;
            api::push_options(stack, &run);
            stack.set_field("opt");
            Ok(())
        })
    }

    /// Gives scripts that declare no options every option as a global, as old scripts expect.
    /// Functions keep their names: `help` is an option too.
    pub fn export_options(&self) -> Result<(), ScriptError> {
        let run = self.run();
        self.protected(|stack| {
            for (name, value) in run.options().iter() {
                stack.push_raw_global(name);
                let keeps_its_name = stack.kind(-1) == sys::LUA_TFUNCTION;
                stack.pop(1);
                if !keeps_its_name {
                    api::push_value(stack, value);
                    stack.set_global(name);
                }
            }
            Ok(())
        })
    }

    /// Calls a global function of the script with whole numbers.
    pub fn call(&self, name: &str, arguments: &[u32]) -> Result<Called, ScriptError> {
        self.protected(|stack| {
            stack.push_global(name);
            if stack.kind(-1) != sys::LUA_TFUNCTION {
                return Ok(Called::Missing);
            }
            for argument in arguments {
                stack.push_number((*argument).into());
            }
            stack.call(arguments.len() as c_int, 0)?;
            Ok(Called::Done)
        })
    }

    /// True where the script has a global function of this name.
    pub fn has_function(&self, name: &str) -> Result<bool, ScriptError> {
        self.protected(|stack| {
            stack.push_global(name);
            Ok(stack.kind(-1) == sys::LUA_TFUNCTION)
        })
    }

    /// The options that the script declares; none if it declares no table of them.
    pub fn declared_options(&self) -> Result<Option<Vec<Declared>>, ScriptError> {
        self.protected(|stack| {
            push_of_sysbench(stack, c"cmdline", c"read_cmdline_options")?;
            stack.call(0, 1)?;
            if stack.kind(-1) != sys::LUA_TTABLE {
                return Ok(None);
            }
            let mut declared = Vec::new();
            loop {
                stack.push_place(declared.len() + 1);
                if stack.kind(-1) != sys::LUA_TTABLE {
                    return Ok(Some(declared));
                }
                let name = stack.text_of_field("name").unwrap_or_default();
                let help = stack.text_of_field("help").unwrap_or_default();
                let default = stack.text_of_field("default");
                stack.push_raw_field("kind");
                let kind = OptionType::from_number(stack.integer(-1));
                stack.pop(2);
                declared.push(Declared {
                    name,
                    help,
                    default,
                    kind: kind.unwrap_or(OptionType::Str),
                });
            }
        })
    }

    /// Asks the script's own check of an option, if it has one, whether it takes a value.
    pub fn accepts(&self, option: &str, value: &str) -> Result<bool, ScriptError> {
        self.ask_cmdline(c"accepts", &[option, value])
    }

    /// Whether the script declares a command of this name; if so, whether all threads share it.
    pub fn command(&self, name: &str) -> Result<Option<Sharing>, ScriptError> {
        if !self.ask_cmdline(c"command_defined", &[name])? {
            return Ok(None);
        }
        Ok(Some(
            match self.ask_cmdline(c"command_parallel", &[name])? {
                true => Sharing::Parallel,
                false => Sharing::Alone,
            },
        ))
    }

    /// Calls a command that the script declares.
    pub fn call_command(&self, name: &str) -> Result<(), ScriptError> {
        self.ask_cmdline(c"call_command", &[name]).map(|_| ())
    }

    /// The answer of a function of `sysbench.cmdline` to these words.
    fn ask_cmdline(&self, function: &CStr, words: &[&str]) -> Result<bool, ScriptError> {
        self.protected(|stack| {
            push_of_sysbench(stack, c"cmdline", function)?;
            for word in words {
                stack.push_bytes(word.as_bytes());
            }
            stack.call(words.len() as c_int, 1)?;
            Ok(stack.flag(-1))
        })
    }

    /// True where the script has set a hook.
    pub fn has_hook(&self, hook: &CStr) -> Result<bool, ScriptError> {
        self.protected(|stack| {
            push_of_sysbench(stack, c"hooks", hook)?;
            Ok(stack.kind(-1) == sys::LUA_TFUNCTION)
        })
    }

    /// Calls a hook with a table of numbers.
    pub fn call_hook(&self, hook: &CStr, numbers: &[(&str, f64)]) -> Result<(), ScriptError> {
        self.protected(|stack| {
            push_of_sysbench(stack, c"hooks", hook)?;
            stack.push_table(0, numbers.len());
            for (name, number) in numbers {
                stack.push_number(*number);
                stack.set_field(name);
            }
            stack.call(1, 0)
        })
    }

    /// Does something with the state; anything raised becomes an error. See [`super::protected`].
    pub fn protected<T>(
        &self,
        work: impl FnOnce(&mut Stack<'_>) -> Result<T, ScriptError>,
    ) -> Result<T, ScriptError> {
        // SAFETY: the state is alive, and no reference to its context is held here, so that the
        // functions of the interface may make theirs.
        let done = unsafe { protected(self.lua.as_ptr(), work) };
        done.map_err(|error| {
            // SAFETY: the heap lives as long as the state, and nothing of Lua runs.
            let refused = unsafe { (*self.context.as_ref().heap).take_refusal() };
            match refused {
                Some(refusal) => refusal.explain(error),
                None => error,
            }
        })
    }

    /// The state, for the code that stops it from outside.
    pub(super) fn raw(&self) -> *mut lua_State {
        self.lua.as_ptr()
    }

    pub fn run(&self) -> Arc<Run> {
        // SAFETY: the context is alive, and no function of the interface is running.
        unsafe { Arc::clone(&self.context.as_ref().run) }
    }

    /// The host's side, for the code that drives the state. Not to be held while Lua runs.
    pub fn context(&mut self) -> &mut Context {
        // SAFETY: the context is alive; `&mut self` keeps other users of it away.
        unsafe { self.context.as_mut() }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: both were made in `new`, and nothing else uses them. Lua's finalisers may call
        // the interface, so the context goes last; connections close before, so that nothing waits
        // inside a finaliser.
        unsafe {
            let run = Arc::clone(&self.context.as_ref().run);
            run.states
                .leave(self.context.as_ref().thread, self.lua.as_ptr());
            self.context.as_mut().close_connections();
            sys::lua_close(self.lua.as_ptr());
            drop(Box::from_raw(self.context.as_ref().heap));
            drop(Box::from_raw(self.context.as_ptr()));
        }
    }
}

/// Pushes the function that a source compiles to.
fn push_chunk(
    stack: &mut Stack<'_>,
    run: &Run,
    name: &str,
    source: &[u8],
) -> Result<(), ScriptError> {
    let lua = stack.raw();
    // SAFETY: the state is alive, and its stack holds no more than a few values here.
    if unsafe {
        run.chunks
            .push(lua, Context::of(lua).originals.dump, name, source)
    } {
        return Ok(());
    }
    Err(stack.take_error())
}

/// Pushes the table `sysbench`.
fn push_sysbench(stack: &mut Stack<'_>) -> Result<(), ScriptError> {
    stack.push_global("sysbench");
    be_table(stack, "sysbench")
}

/// Pushes a field of a table of `sysbench`.
fn push_of_sysbench(stack: &mut Stack<'_>, table: &CStr, name: &CStr) -> Result<(), ScriptError> {
    push_sysbench(stack)?;
    stack.push_field(-1, table);
    be_table(stack, &format!("sysbench.{}", table.to_string_lossy()))?;
    stack.push_field(-1, name);
    Ok(())
}

/// Scripts can put something else in the place of a table that the interface needs.
fn be_table(stack: &Stack<'_>, name: &str) -> Result<(), ScriptError> {
    match stack.kind_name(-1) {
        "table" => Ok(()),
        kind => Err(ScriptError(format!(
            "{name} is a {kind} value, not a table"
        ))),
    }
}

/// Lua's own allocator maps pieces of 128 KB, which is much for a thousand small states.
unsafe extern "C" fn allocate(
    context: *mut c_void,
    block: *mut c_void,
    size_before: usize,
    size: usize,
) -> *mut c_void {
    let context: *const Context = context.cast();
    // SAFETY: the address is that of the state's context, whose heap is set when it is made and
    // never again, and nothing else uses it. Lua gives null, or a block that came from here.
    unsafe {
        let heap = (&raw const (*context).heap).read();
        (*heap).change(block.cast(), size_before, size).cast()
    }
}

#[cfg(test)]
mod tests;
