-- sysbench.histogram: counts over buckets whose widths grow evenly on a log scale.

local host = ...

local methods = { update = host.histogram_update, print = host.histogram_print }

host.keep_histogram_meta({
  __index = methods,
  __tostring = function()
    return "<sb_histogram>"
  end,
})

sysbench.histogram = {}

function sysbench.histogram.new(size, lowest, highest)
  host.check(size, "number", 1, "new")
  host.check(lowest, "number", 2, "new")
  host.check(highest, "number", 3, "new")
  return host.histogram_new(size, lowest, highest)
end
