local nothing

local sum = nothing + 1
