function event() end

function prepare()
  error("cannot prepare")
end

function cleanup()
  error("cannot clean up")
end

function help()
  error("cannot help")
end
