function prepare() end
