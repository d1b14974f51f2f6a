function event()
  local twice = = 3
end
