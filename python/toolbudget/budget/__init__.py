"""Decisions: the gate, the budget, and the session that holds both."""
