"""Naive twins: each says what is right in the plainest way, however slow, and the fast code is held to it."""
