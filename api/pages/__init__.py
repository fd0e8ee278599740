"""The web page: the queue, the decisions, and why an object is where it is, for people with a browser.

Made on the server without scripts, so that what is shown can be linked to, saved and tested as text.
"""
