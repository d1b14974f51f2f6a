function event()
  return true
end

function done()
  error("nothing to sum up")
end
