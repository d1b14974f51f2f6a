function event()
  error({ code = 5 })
end
