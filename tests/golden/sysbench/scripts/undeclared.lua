-- Without declared options each one is a global, but functions keep their names.
function help()
  print("help of the script", type(time), type(help))
end

function event()
  help()
  return true
end
