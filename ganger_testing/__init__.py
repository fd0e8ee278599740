"""For tests of what is built on ganger: made-up clusters and logs, and what has to hold for all of them.

Installed with ganger; needs Hypothesis, which `pip install 'ganger[testing]'` brings.
"""
