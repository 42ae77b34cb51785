"""Skeletons register what they define: nothing but their own test (tests/test_skeletons.py) imports them; _site is Sphinx's."""

collect_ignore_glob = ["skeletons/*.py", "_site/*.py", "_build/*"]
