-- Parts of the interface that most scripts never name: each is loaded when it is first named, so
-- that a thousand threads need not hold a thousand copies.

local host = ...

local function part_of(name)
  local part
  return function()
    part = part or host.part(name)(host)
    return part
  end
end

local report, legacy = part_of("report"), part_of("legacy")
local has_legacy = host.compat == "1.0"

setmetatable(sysbench, {
  __index = function(_, name)
    if type(name) ~= "string" then
      return nil
    elseif name:find("^report_") then
      return report()[name]
    elseif name == "db" and has_legacy then
      return legacy().db
    end
  end,
})

if has_legacy then
  local GLOBALS =
    { thread_id = true, test = true, mysql_table_engine = true, myisam_max_rows = true }

  -- A script's own globals come first: they never get here.
  setmetatable(_G, {
    __index = function(globals, name)
      if
        type(name) == "string"
        and (GLOBALS[name] or name:find("^db_") or name:find("^sb_r") or name:find("^DB_ERROR_"))
      then
        local value = legacy()[name]
        rawset(globals, name, value)
        return value
      end
    end,
  })
end
