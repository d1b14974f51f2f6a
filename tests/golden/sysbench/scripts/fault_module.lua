local helper = require("no_such_module")

function event() end
