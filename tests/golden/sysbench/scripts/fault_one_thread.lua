function thread_init(tid)
  if tid == 1 then
    error("thread " .. tid .. " has no part")
  end
end

function event() end
