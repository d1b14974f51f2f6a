-- run: --threads=1 --time=60 run
-- says: total number of events:              3
local count = 0

function event()
  count = count + 1
  return count > 3
end
