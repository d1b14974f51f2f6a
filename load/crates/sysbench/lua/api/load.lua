-- load, loadstring, loadfile and dofile: of source, not of bytecode.
--
-- LuaJIT does not check bytecode: what it did not make itself can end the process.

local host = ...
local load_any, load_from = load, loadfile

-- Files are noted: what was run is known by them.
local function loadfile_any(path, ...)
  host.note_file(path)
  return load_from(path, ...)
end

-- The same, but for the mode in the third place; the fourth argument means something even if it is nil.
local function with_source(load_with)
  return function(chunk, name, mode, ...)
    if mode == nil or mode == "bt" then
      mode = "t"
    elseif mode == "b" then
      return nil, "bytecode is not loaded here"
    end
    return load_with(chunk, name, mode, ...)
  end
end

load = with_source(load_any)
loadstring = load

local from_file = with_source(function(path, _, mode, ...)
  return loadfile_any(path, mode, ...)
end)

function loadfile(path, mode, ...)
  return from_file(path, nil, mode, ...)
end

function dofile(path)
  local chunk, message = loadfile_any(path, "t")
  if not chunk then
    error(message, 0)
  end
  return chunk()
end
