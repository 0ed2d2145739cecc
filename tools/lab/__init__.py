"""The lab bench: experiments that start fleets, load them, and draw what came out.

Orchestration only, in Python's standard library: what is measured is measured by the programs in C.
The columns of the sweep's CSV, which other tools read, are those of table.py.
"""
