function event()
  return true
end

function thread_done()
  error("nothing to close")
end
