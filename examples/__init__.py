"""Things to try: the demo, a quickstart in manifests, a real trace."""
