-- The FFI as scripts get it.
--
-- ffi.C is a table in front of the C namespace. Names that are ours are answered with functions
-- of the interface, which wait as every other call does; all else is the C library's.

local host = ...

local real = ffi.C
local symbols

local function symbol_of(name)
  symbols = symbols or host.part("symbols")(host, real)
  return symbols[name]
end

ffi.C = setmetatable({}, {
  __index = function(_, name)
    local symbol = symbol_of(name)
    if symbol ~= nil then
      return symbol
    end
    return real[name]
  end,
  __newindex = function(_, name, value)
    real[name] = value
  end,
})

local execute = os.execute
function os.execute(command)
  if command == nil then
    return execute()
  end
  return host.run_command(command)
end

-- What may wait without the host's knowledge -------------------------------------------------

-- Functions that scripts declare and that return at once. A script that declares others, or
-- loads C libraries, gets a thread of the operating system for each of its own.
local AT_ONCE = [[
  printf puts putchar fprintf sprintf snprintf fflush write
  gettimeofday clock_gettime clock time times gmtime gmtime_r localtime localtime_r mktime strftime difftime
  strlen strcmp strncmp strcpy strncpy strcat strstr strchr strdup strtol strtoul strtoll strtoull strtod
  atoi atol atoll atof toupper tolower isalpha isdigit
  memcpy memset memcmp memmove malloc calloc realloc free
  rand srand random srandom drand48 srand48 lrand48 erand48
  getpid getppid gettid getuid getenv setenv unsetenv syscall pthread_self sched_getcpu sysconf
  abs labs floor ceil sqrt pow exp log log2 log10 sin cos fmod round signal getrusage
]]

-- Made when it is first asked for: most scripts declare nothing.
local at_once

local function returns_at_once(name)
  if not at_once then
    at_once = {}
    for known in AT_ONCE:gmatch("%S+") do
      at_once[known] = true
    end
  end
  return at_once[name]
end

local declare = ffi.cdef
local declared = {}

function ffi.cdef(text, ...)
  -- The same declarations may come again: by a module that two scripts share, or by the text of
  -- a type that the interface has.
  if select("#", ...) == 0 and declared[text] then
    return
  end
  local fine, message = pcall(declare, text, ...)
  if not fine then
    error(message, 2)
  end
  declared[text] = true
  for name in text:gsub("/%*.-%*/", ""):gsub("//[^\n]*", ""):gmatch("([%a_][%w_]*)%s*%(") do
    if not returns_at_once(name) and symbol_of(name) == nil and not name:find("^__") then
      host.note_blocking(name)
    end
  end
end

local load_library = ffi.load
function ffi.load(name, ...)
  host.note_blocking("ffi.load of " .. tostring(name))
  return load_library(name, ...)
end

local search_path = package.searchpath
for place = 3, 4 do
  local loader = package.loaders[place]
  package.loaders[place] = function(name)
    local found, extra = loader(name)
    if type(found) == "function" then
      host.note_blocking("the C module " .. name)
      -- The last loader finds a module in the library of the module it is part of.
      host.note_file(search_path(place == 4 and name:match("^[^.]*") or name, package.cpath))
    end
    return found, extra
  end
end
