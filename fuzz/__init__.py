"""Fuzzers; CONTRIBUTING.md explains how to run them."""
