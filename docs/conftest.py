"""Skeletons register what they define, so nothing but their own test (tests/test_skeletons.py) imports them."""

collect_ignore_glob = ["skeletons/*.py"]
