"""The batch systems whose scripts and commands hpcbatch knows: one folder each, and `port.py`, which says what one is.

A dialect turns text into a JobSpec and records into text. It reads no file, calls no API, and knows no other dialect.
"""
