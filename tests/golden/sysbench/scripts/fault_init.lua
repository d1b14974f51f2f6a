function init()
  error("no such warehouse")
end

function event() end
