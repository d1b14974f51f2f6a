"""The command line: one file a subcommand. Parse, call one function, print, exit."""
