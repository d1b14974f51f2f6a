//! One Lua state with the interface in it: made, given a script, called, closed.

use super::chunks::{self, Chunks};
use super::context::Context;
use super::options::{Declared, OptionType};
use super::run::Run;
use super::stack::Stack;
use super::sys::{self, lua_State};
use super::thread_io::ThreadIo;
use super::{api, modules};
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

/// What a script raised, or why it cannot be run: in its own words, with file and line where it
/// named them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScriptError(pub String);

/// A Lua state and the host's side of it.
pub struct State {
    lua: NonNull<lua_State>,
    context: NonNull<Context>,
}

/// What a call of a script's function came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    Done,
    /// The script has no such function.
    Missing,
}

/// Who runs a command of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    Alone,
    /// All threads, each for its part.
    Parallel,
}

impl State {
    /// A state with the interface, before the script.
    pub fn new(run: Arc<Run>, thread: u32, io: Box<dyn ThreadIo>) -> Result<Self, ScriptError> {
        let context = Box::leak(Box::new(Context::new(run, thread, io)));
        let context = NonNull::from(context);
        // SAFETY: the allocator finds its heap by the context, and both live as long as the state.
        let lua = unsafe { sys::lua_newstate(allocate, context.as_ptr().cast()) };
        let Some(lua) = NonNull::new(lua) else {
            // SAFETY: both were leaked when they were made, and nothing else knows them.
            unsafe {
                drop(Box::from_raw(context.as_ref().heap));
                drop(Box::from_raw(context.as_ptr()));
            }
            return Err(ScriptError("no memory for one more Lua state".to_owned()));
        };
        let state = Self { lua, context };
        state.open()?;
        Ok(state)
    }

    fn open(&self) -> Result<(), ScriptError> {
        // SAFETY: the state is alive; loading libraries needs nothing of its stack. What is loaded
        // stays, so there is nothing to collect meanwhile.
        unsafe {
            sys::lua_gc(self.lua.as_ptr(), sys::LUA_GCSTOP, 0);
            sys::luaL_openlibs(self.lua.as_ptr());
        }
        let mut stack = self.stack();
        let run = self.run();
        api::push_host(&mut stack, &run);
        let host = stack.top();
        for (name, source) in chunks::API {
            self.push_chunk(&run.chunks, &chunks::chunk_name_of(name), source.as_bytes())?;
            // SAFETY: `host` is an index of a value that stays on the stack during the loop.
            unsafe { sys::lua_pushvalue(stack.raw(), host) };
            self.call_for(1, 0)?;
        }
        stack.pop(1);
        modules::install(&mut stack);
        self.collect();
        Ok(())
    }

    /// Runs the body of the run's script.
    pub fn run_script(&self) -> Result<(), ScriptError> {
        let run = self.run();
        self.push_chunk(&run.chunks, &run.script.chunk_name, &run.script.source)?;
        self.call_for(0, 0)?;
        self.collect();
        Ok(())
    }

    /// Frees what was only needed to get here, so that what comes next takes its place: of a
    /// thousand states each would keep it.
    fn collect(&self) {
        // SAFETY: the state is alive, and nothing of it runs.
        unsafe {
            sys::lua_gc(self.lua.as_ptr(), sys::LUA_GCCOLLECT, 0);
            sys::lua_gc(self.lua.as_ptr(), sys::LUA_GCRESTART, -1);
        }
    }

    /// Gives the script `sysbench.opt`.
    pub fn show_options(&self) {
        api::set_options(&mut self.stack(), &self.run());
    }

    /// Gives scripts that declare no options every option as a global, as old scripts expect.
    /// Functions keep their names: `help` is an option too.
    pub fn export_options(&self) {
        let run = self.run();
        for (name, value) in run.options().iter() {
            if self.has_function(name) {
                continue;
            }
            api::push_value(&mut self.stack(), value);
            self.stack().set_global(name);
        }
    }

    /// Calls a global function of the script with whole numbers.
    pub fn call(&self, name: &str, arguments: &[u32]) -> Result<Called, ScriptError> {
        let mut stack = self.stack();
        let name = CString::new(name).unwrap_or_default();
        stack.push_global(&name);
        if stack.kind(-1) != sys::LUA_TFUNCTION {
            stack.pop(1);
            return Ok(Called::Missing);
        }
        for argument in arguments {
            stack.push_number((*argument).into());
        }
        self.call_for(arguments.len() as c_int, 0)?;
        Ok(Called::Done)
    }

    /// True where the script has a global function of this name.
    pub fn has_function(&self, name: &str) -> bool {
        let mut stack = self.stack();
        stack.push_global(&CString::new(name).unwrap_or_default());
        let is_function = stack.kind(-1) == sys::LUA_TFUNCTION;
        stack.pop(1);
        is_function
    }

    /// Calls the function below its arguments on the stack; leaves so many results there.
    fn call_for(&self, arguments: c_int, results: c_int) -> Result<(), ScriptError> {
        // SAFETY: function and arguments are on the stack. No reference to the context is held
        // here, so the functions of the interface may make theirs.
        let failed = unsafe { sys::lua_pcall(self.lua.as_ptr(), arguments, results, 0) } != 0;
        if failed {
            Err(self.pop_error())
        } else {
            Ok(())
        }
    }

    /// The options that the script declares; none if it declares no table of them.
    pub fn declared_options(&self) -> Result<Option<Vec<Declared>>, ScriptError> {
        let mut stack = self.stack();
        self.push_cmdline(c"read_cmdline_options");
        self.call_for(0, 1)?;
        if stack.kind(-1) != sys::LUA_TTABLE {
            stack.pop(1);
            return Ok(None);
        }
        let mut declared = Vec::new();
        loop {
            // SAFETY: a table is on top of the stack.
            unsafe { sys::lua_rawgeti(stack.raw(), -1, declared.len() as c_int + 1) };
            if stack.is_nil(-1) {
                break;
            }
            let name = stack.text_of_field(c"name").unwrap_or_default();
            let help = stack.text_of_field(c"help").unwrap_or_default();
            let default = stack.text_of_field(c"default");
            stack.push_field(-1, c"kind");
            let kind = OptionType::from_number(stack.integer(-1));
            stack.pop(2);
            declared.push(Declared {
                name,
                help,
                default,
                kind: kind.unwrap_or(OptionType::Str),
            });
        }
        stack.pop(2);
        Ok(Some(declared))
    }

    /// Asks the script's own check of an option, if it has one, whether it takes a value.
    pub fn accepts(&self, option: &str, value: &str) -> Result<bool, ScriptError> {
        self.push_cmdline(c"accepts");
        self.stack().push_bytes(option.as_bytes());
        self.stack().push_bytes(value.as_bytes());
        self.call_for(2, 1)?;
        Ok(self.pop_flag())
    }

    /// Whether the script declares a command of this name; if so, whether all threads share it.
    pub fn command(&self, name: &str) -> Option<Sharing> {
        let ask = |question| {
            self.push_cmdline(question);
            self.stack().push_bytes(name.as_bytes());
            self.call_for(1, 1).is_ok() && self.pop_flag()
        };
        let defined = ask(c"command_defined");
        defined.then(|| match ask(c"command_parallel") {
            true => Sharing::Parallel,
            false => Sharing::Alone,
        })
    }

    /// Calls a command that the script declares.
    pub fn call_command(&self, name: &str) -> Result<(), ScriptError> {
        self.push_cmdline(c"call_command");
        self.stack().push_bytes(name.as_bytes());
        self.call_for(1, 0)
    }

    fn pop_flag(&self) -> bool {
        let flag = self.stack().flag(-1);
        self.stack().pop(1);
        flag
    }

    /// Pushes a function of `sysbench.cmdline`.
    fn push_cmdline(&self, function: &CStr) {
        self.push_of_sysbench(c"cmdline", function);
    }

    fn push_of_sysbench(&self, table: &CStr, name: &CStr) {
        let mut stack = self.stack();
        stack.push_global(c"sysbench");
        stack.push_field(-1, table);
        stack.push_field(-1, name);
        // SAFETY: three values were pushed; the first two make room for the third.
        unsafe { sys::lua_insert(stack.raw(), -3) };
        stack.pop(2);
    }

    /// True where the script has set a hook.
    pub fn has_hook(&self, hook: &CStr) -> bool {
        self.push_of_sysbench(c"hooks", hook);
        let is_set = self.stack().kind(-1) == sys::LUA_TFUNCTION;
        self.stack().pop(1);
        is_set
    }

    /// Calls a hook with a table of numbers.
    pub fn call_hook(&self, hook: &CStr, numbers: &[(&CStr, f64)]) -> Result<(), ScriptError> {
        let mut stack = self.stack();
        self.push_of_sysbench(c"hooks", hook);
        stack.push_table(0, numbers.len());
        for (name, number) in numbers {
            stack.push_number(*number);
            stack.set_field(name);
        }
        self.call_for(1, 0)
    }

    fn push_chunk(&self, chunks: &Chunks, name: &str, source: &[u8]) -> Result<(), ScriptError> {
        // SAFETY: the state is alive, and its stack holds no more than a few values here.
        if unsafe { chunks.push(self.lua.as_ptr(), name, source) } {
            return Ok(());
        }
        Err(self.pop_error())
    }

    fn pop_error(&self) -> ScriptError {
        let mut stack = self.stack();
        let message = match stack.kind(-1) {
            sys::LUA_TSTRING | sys::LUA_TNUMBER => stack.text(-1),
            sys::LUA_TTABLE => self.sql_error(),
            _ => None,
        };
        stack.pop(1);
        ScriptError(message.unwrap_or_else(|| "(not a string)".to_owned()))
    }

    /// An error that would begin an event again was raised where there is none.
    fn sql_error(&self) -> Option<String> {
        let mut stack = self.stack();
        let errno = stack.text_of_field(c"sql_errno")?;
        let state = stack.text_of_field(c"sql_state")?;
        let message = stack.text_of_field(c"sql_errmsg").unwrap_or_default();
        Some(format!(
            "SQL error, errno = {errno}, state = '{state}': {message}"
        ))
    }

    fn stack(&self) -> Stack<'_> {
        // SAFETY: the state outlives what it lends, and no function here keeps a text of it.
        unsafe { Stack::new(self.lua.as_ptr()) }
    }

    #[cfg(test)]
    pub fn raw(&self) -> *mut lua_State {
        self.lua.as_ptr()
    }

    pub fn run(&self) -> Arc<Run> {
        // SAFETY: the context is alive, and no function of the interface is running.
        unsafe { Arc::clone(&self.context.as_ref().run) }
    }

    /// The host's side, for those who drive the state. Not to be held while Lua runs.
    pub fn context(&mut self) -> &mut Context {
        // SAFETY: the context is alive; `&mut self` keeps other users of it away.
        unsafe { self.context.as_mut() }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: both were made in `new`, and are used by nobody else. Lua's finalisers may
        // call the interface, so the context goes last; connections close before, so that
        // nothing waits inside a finaliser.
        unsafe {
            self.context.as_mut().close_connections();
            sys::lua_close(self.lua.as_ptr());
            drop(Box::from_raw(self.context.as_ref().heap));
            drop(Box::from_raw(self.context.as_ptr()));
        }
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
    // never again, and is used by nobody else. Lua gives null, or a block that came from here.
    unsafe {
        let heap = (&raw const (*context).heap).read();
        (*heap).change(block.cast(), size_before, size).cast()
    }
}
