"""Slow, literal, independent twins of the library's formulas and algorithms, one module a room."""
