"""Views of more than one run folder: two compared (`sides`), many over time (`history`), all of a
folder on one local page (`pages`).

It may import `report` and the imports permitted to that; only `cli` imports it. Begin at
`sides.py`, `history.py` or `pages.py`: each reads run folders and returns plain data. The words,
the JSON and the page of it are in the file next to it.
"""
