"""Proof by injected faults: harnesses that break what the library stands on, and count."""
