-- The questions about what a script declares in sysbench.cmdline: its options and its commands.

local cmdline = sysbench.cmdline
local asked = {}

local KIND_OF_DEFAULT = {
  boolean = cmdline.ARG_BOOL,
  number = cmdline.ARG_DOUBLE,
  string = cmdline.ARG_STRING,
  table = cmdline.ARG_LIST,
  ["nil"] = cmdline.ARG_STRING,
}

local function text_of(value)
  if type(value) == "boolean" then
    return value and "on" or "off"
  elseif type(value) == "table" then
    return table.concat(value, ",")
  elseif value ~= nil then
    return tostring(value)
  end
end

local function declared(name, option)
  if type(option) ~= "table" or type(option[1]) ~= "string" then
    error(("option '%s': use a table that begins with a description: {\"...\", default}"):format(name), 0)
  end
  local default = option[2]
  local kind = option[3] or KIND_OF_DEFAULT[type(default)]
  if type(kind) ~= "number" or kind < cmdline.ARG_BOOL or kind > cmdline.ARG_FILE then
    error(("option '%s': its type is not one of sysbench.cmdline.ARG_*"):format(name), 0)
  end
  if option[4] ~= nil and type(option[4]) ~= "function" then
    error(("option '%s': its check is not a function"):format(name), 0)
  end
  return { name = name, help = option[1], default = text_of(default), kind = kind }
end

-- What the script declares, by name. nil where it declares nothing: then any option is accepted.
function asked.read_cmdline_options()
  if cmdline.options == nil then
    return nil
  elseif type(cmdline.options) ~= "table" then
    error("sysbench.cmdline.options: use a table, not a " .. type(cmdline.options), 0)
  end
  local names, list = {}, {}
  for name in pairs(cmdline.options) do
    names[#names + 1] = name
  end
  table.sort(names)
  for place, name in ipairs(names) do
    list[place] = declared(name, cmdline.options[name])
  end
  return list
end

-- Asks the script's own check whether it takes the value that was given. A check that returns
-- false refuses it.
function asked.accepts(name, value)
  local option = cmdline.options and cmdline.options[name]
  local check = option and option[4]
  return not check or check(name, value) ~= false
end

local function command_of(name)
  local commands = cmdline.commands
  return type(commands) == "table" and commands[name] or nil
end

function asked.command_defined(name)
  return command_of(name) ~= nil
end

function asked.command_parallel(name)
  local command = command_of(name)
  return command ~= nil and command[2] == cmdline.PARALLEL_COMMAND
end

function asked.call_command(name)
  local command = command_of(name)
  if command == nil then
    return false
  end
  command[1]()
  return true
end

return asked
