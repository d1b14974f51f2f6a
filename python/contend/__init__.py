"""contend: would this change make the server faster, by how much, at which load, and why?"""

__version__ = "0.1.0"
