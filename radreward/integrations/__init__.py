"""Adapters for other training frameworks."""
