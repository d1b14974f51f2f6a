-- A bundled script of which each thread does so many events, however they would fall to threads.
require("oltp_read_only")

local whole, done = event, 0

function event(...)
  whole(...)
  done = done + 1
  return done == 15
end
