-- run: --given_switch=off run
-- says: switch boolean true
-- says: given_switch boolean false
-- says: list table 0
local C = sysbench.cmdline
sysbench.cmdline.options = {
  switch = { "a switch", nil, C.ARG_BOOL },
  given_switch = { "a switch that is given", nil, C.ARG_BOOL },
  integer = { "an integer", nil, C.ARG_INT },
  size = { "a size", nil, C.ARG_SIZE },
  double = { "a number", nil, C.ARG_DOUBLE },
  text = { "a text", nil, C.ARG_STRING },
  list = { "a list", nil, C.ARG_LIST },
  file = { "a file", nil, C.ARG_FILE },
}

function event()
  local names = { "switch", "given_switch", "integer", "size", "double", "text", "list", "file" }
  for _, name in ipairs(names) do
    local value = sysbench.opt[name]
    print(name, type(value), type(value) == "table" and #value or tostring(value))
  end
  return 1
end
