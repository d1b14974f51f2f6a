function help()
  print("usage: one table, no index")
end
