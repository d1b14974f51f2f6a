"""Settings: each thing that can vary is one file here and one line of `SETTINGS`."""
