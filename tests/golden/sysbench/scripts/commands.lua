-- Commands of the script's own go before the usual ones.
sysbench.cmdline.commands = {
  prepare = { function() print("prepared by the table") end },
  run = { function() print("run by the table") end },
  help = { function() print("helped by the table") end },
  greet = { function() print("greeted") end },
}

function prepare()
  error("the table goes before")
end
