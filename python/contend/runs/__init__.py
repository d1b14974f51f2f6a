"""Views of more than one run folder: two compared (`sides`), many over time (`history`), all
runs of a folder on one local page (`pages`).

The room may import `report` and what that may import. Start in one of these three: each reads run
folders and returns plain data. Its text, JSON and page are in the files next to it.
"""
