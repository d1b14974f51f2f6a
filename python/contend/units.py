"""Durations and sizes as people write them, and back. Numbers inside contend are SI: s, bytes."""
