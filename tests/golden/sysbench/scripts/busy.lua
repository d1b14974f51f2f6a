-- Events that wait for nothing.
function event() end
