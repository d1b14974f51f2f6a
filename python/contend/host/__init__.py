"""What the host is and how it fared: facts, pressure, page cache. Reads under an injected root."""
