"""How bright colours are, and how well one is seen on another."""

from __future__ import annotations

from collections.abc import Sequence

BRIGHT = 0.18  # luminance from which black is seen better than white


def contrast(one: Sequence[int], other: Sequence[int]) -> float:
    """(L₁ + 0.05) / (L₂ + 0.05) of the lighter and the darker (WCAG 2)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(rgb: Sequence[int]) -> float:
    """0.2126 R + 0.7152 G + 0.0722 B of the linear channels."""
    linear = [v / 3294.6 if v <= 10 else ((v / 255 + 0.055) / 1.055) ** 2.4 for v in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def bright(colour: str) -> bool:
    """Whether black is seen better on it than white."""
    return luminance(channels(colour)) > BRIGHT
