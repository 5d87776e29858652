"""Tests of providers in memory: the real gateway without a port, and a clock turned by hand.

`async with provider.test() as session:` opens it (`opening.open_test`); nothing here is imported
before.
"""
