-- A loop of its own: pauses between events by the clock of the C library, one group in two asks.
ffi.cdef([[
typedef struct { long sec; long usec; } own_time;
int gettimeofday(own_time *, void *);
int usleep(unsigned int);
bool sb_more_events(int);
void sb_event_start(int);
void sb_event_stop(int);
]])

local C = ffi.C
local moment = ffi.new("own_time")

local function now_s()
  C.gettimeofday(moment, nil)
  return tonumber(moment.sec) + tonumber(moment.usec) / 1e6
end

function thread_init(tid)
  if tid % 2 == 0 then
    con = sysbench.sql.driver():connect()
  end
end

function event(tid)
  if con then
    assert(con:query_row("SELECT " .. tid) == tostring(tid))
  end
end

function thread_run(tid)
  local due_s = now_s()
  while C.sb_more_events(tid) do
    due_s = due_s - math.log(1 - sysbench.rand.uniform_double()) / 200
    local left_s = due_s - now_s()
    if left_s > 0 then
      C.usleep(left_s * 1e6)
    end
    C.sb_event_start(tid)
    event(tid)
    C.sb_event_stop(tid)
  end
end
