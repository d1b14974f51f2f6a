-- run: --a-number=10M --an_int=4 --a-size=3G --a-list=x,,y --a-switch=off --a-text= prepare
-- says: all kinds
-- alone: sysbench reads 10M as 10
local C = sysbench.cmdline
sysbench.cmdline.options = {
  ["a-number"] = { "a number", 5 },
  an_int = { "an integer", 3, C.ARG_INT },
  a_size = { "a size", "4K", C.ARG_SIZE },
  a_list = { "a list", { "a", "b" } },
  a_switch = { "a switch", true },
  a_text = { "a text", "x" },
  nothing = { "no default" },
  file = { "a file", nil, C.ARG_FILE },
  big = { "a big number", 12345678901 },
  negative = { "a negative number", -1.5 },
  other_size = { "a size", "4K", C.ARG_SIZE },
}

function prepare()
  local opt = sysbench.opt
  assert(opt.a_number == 10 * 1024 * 1024 and opt.an_int == 4 and opt.a_size == 3 * 2 ^ 30)
  assert(#opt.a_list == 2 and opt.a_list[2] == "y" and opt.a_switch == false and opt.a_text == "")
  assert(opt.nothing == "" and opt.file == nil and opt.big == 12345678901)
  assert(opt.negative == -1.5 and opt.other_size == 4096)
  assert(C.ARG_BOOL == 1 and C.ARG_DOUBLE == 4 and C.ARG_STRING == 5 and C.ARG_MAX == 8)
  print("all kinds")
end
