"""Why levels differ: candidates and their treatments, what became of a difference under them, and
what the figures of one study say. Imports findings and what is below it; start in `candidate.py`.
"""
