function event()
  local row = nil
  return row.id
end
