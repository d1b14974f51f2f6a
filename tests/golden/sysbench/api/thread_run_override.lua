-- run: --threads=2 --events=10 run
-- says: total number of events:              10
local C = ffi.C

function event() end

function thread_run(tid)
  while C.sb_more_events(tid) do
    C.sb_event_start(tid)
    event(tid)
    C.sb_event_stop(tid)
  end
end
