"""Experiment files: text in, frozen and validated objects out. No effects but reading the file."""
