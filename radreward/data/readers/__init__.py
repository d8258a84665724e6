"""Readers of published report collections."""
