"""Tests of the hosts."""
