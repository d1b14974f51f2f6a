-- sysbench.rand: numbers from the thread's own stream, which --rand-seed decides.

local host = ...

local next_uint64 = ffi.cast("uint64_t (*)(void *)", host.rand_uint64_address)
local context = host.context

function host.rand_uint64()
  return next_uint64(context)
end

sysbench.rand = {
  default = host.rand_default,
  uniform = host.rand_uniform,
  gaussian = host.rand_gaussian,
  pareto = host.rand_pareto,
  unique = host.rand_unique,
  uniform_double = host.rand_uniform_double,
  string = host.rand_string,
  uniform_uint64 = host.rand_uint64,
}

if host.compat == "1.1" then
  sysbench.rand.zipfian = host.rand_zipfian
  sysbench.rand.varstring = host.rand_varstring
else
  sysbench.rand.special = host.rand_special
end
