"""What may see what: shares, disjointness, streams of their own, splits by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from references.data import share

from orda.data.domain import ArrayDomain
from orda.data.splits import Splits, _share, split
from orda.errors import SettingError, UnknownName

CLASSES = ("ant", "bee", "cow")


def domain(name: str, n: int = 100, names: tuple[str, ...] | None = None) -> ArrayDomain:
    labels = np.arange(n) % 3
    names = tuple(f"{CLASSES[c]}/{name}{i}.png" for i, c in enumerate(labels)) if names is None else names
    return ArrayDomain(name, np.zeros((n, 2, 2, 3), dtype=np.uint8), labels, names, CLASSES)


def shared_names(n: int, suffix: str = "png") -> tuple[str, ...]:
    return tuple(f"{CLASSES[i % 3]}/{i:04d}.{suffix}" for i in range(n))


def same(a: Splits, b: Splits) -> bool:
    first, second = ((*s.train, *s.validation, s.adapt, s.evaluate) for s in (a, b))
    return all(np.array_equal(x, y) for x, y in zip(first, second, strict=True))


@given(
    n=st.integers(10, 300),
    m=st.integers(10, 300),
    holdout=st.floats(0.1, 0.9),
    fraction=st.floats(0.1, 0.9),
    stratified=st.booleans(),
    seed=st.integers(0, 99),
)
def test_the_parts_are_disjoint_complete_and_of_the_asked_share(n, m, holdout, fraction, stratified, seed) -> None:
    splits = split(
        [domain("s", n)],
        domain("t", m),
        seed=seed,
        holdout=holdout,
        target_fraction=fraction,
        stratified=stratified,
    )
    for first, second, size in (
        (splits.train[0], splits.validation[0], n),
        (splits.evaluate, splits.adapt, m),
    ):
        np.testing.assert_array_equal(np.sort(np.concatenate([first, second])), np.arange(size))
        assert (np.diff(first) > 0).all()
    assert len(splits.validation[0]) == int(holdout * n + 1e-9)
    assert len(splits.adapt) == int(fraction * m + 1e-9)


@given(groups=st.lists(st.integers(0, 4), min_size=1, max_size=60), fraction=st.floats(0, 1), seed=st.integers(0, 99))
def test_shares_are_the_literal_twin(groups: list[int], fraction: float, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(groups))
    got = np.flatnonzero(_share(fraction, np.array(groups), order)).tolist()
    assert got == share(fraction, groups, order.tolist())


def test_defaults_are_those_of_the_protocol() -> None:
    splits = split([domain("s", 2427)], domain("t", 4365), seed=0)
    assert (len(splits.train[0]), len(splits.validation[0])) == (1942, 485)  # DomainBed holds out int(0.2 · 2427)
    assert (len(splits.adapt), len(splits.evaluate)) == (2182, 2183)


def test_stratified_keeps_every_class() -> None:
    splits = split([domain("s", 300)], domain("t", 300), seed=0, stratified=True)
    labels = domain("s", 300).labels
    assert np.bincount(labels[splits.validation[0]]).tolist() == [20, 20, 20]
    assert np.bincount(labels[splits.adapt]).tolist() == [50, 50, 50]
    plain = split([domain("s", 300)], domain("t", 300), seed=0)
    assert np.bincount(labels[plain.validation[0]]).tolist() != [20, 20, 20]


def test_every_domain_has_a_stream_of_its_own() -> None:
    a, b, t = domain("a"), domain("b"), domain("t")
    alone, both = split([a], t, seed=0), split([b, a], t, seed=0)
    np.testing.assert_array_equal(alone.validation[0], both.validation[1])
    np.testing.assert_array_equal(alone.adapt, both.adapt)
    assert not np.array_equal(both.validation[0], both.validation[1])
    assert same(alone, split([a], t, seed=0))
    assert not same(alone, split([a], t, seed=1))


def test_by_name_nothing_evaluated_is_ever_trained_on() -> None:
    a, b, t = (
        domain("a", 200, shared_names(200)),
        domain("b", 150, shared_names(150, "jpg")),
        domain("t", 200, shared_names(200)),
    )
    splits = split([a, b], t, seed=0, by="name")
    name = lambda d, index: {d.names[i].rsplit(".", 1)[0] for i in index}  # noqa: E731
    train = name(a, splits.train[0]) | name(b, splits.train[1])
    validation = name(a, splits.validation[0]) | name(b, splits.validation[1])
    evaluate, adapt = name(t, splits.evaluate), name(t, splits.adapt)
    assert not evaluate & (train | validation | adapt)
    assert not train & validation
    assert (len(evaluate), len(adapt)) == (100, 100)
    assert len(splits.validation[0]) == 20
    assert train | validation == adapt  # what is not evaluated is used in the sources


def test_by_name_all_tasks_are_evaluated_on_the_same_names() -> None:
    a, b, c = (domain(name, 120, shared_names(120)) for name in "abc")
    first, second = split([a], b, seed=4, by="name"), split([b], c, seed=4, by="name")
    np.testing.assert_array_equal(first.evaluate, second.evaluate)
    np.testing.assert_array_equal(first.train[0], second.train[0])
    assert not np.array_equal(first.evaluate, split([a], b, seed=5, by="name").evaluate)


def test_by_name_sources_with_other_names_lose_nothing() -> None:
    splits = split([domain("a", 90)], domain("t", 60), seed=0, by="name")
    assert len(splits.train[0]) + len(splits.validation[0]) == 90


def test_by_name_stratified() -> None:
    a, t = (domain(name, 300, shared_names(300)) for name in "at")
    splits = split([a], t, seed=0, by="name", stratified=True)
    assert np.bincount(t.labels[splits.evaluate]).tolist() == [50, 50, 50]
    assert np.bincount(a.labels[splits.validation[0]]).tolist() == [10, 10, 10]


def test_the_parts_as_domains() -> None:
    a, b, t = domain("a", 50), domain("b", 40), domain("t", 30)
    splits = split([a, b], t, seed=0)
    parts = splits.domains([a, b], t)
    assert [len(v) for v in parts.validation] == [10, 8]
    assert len(parts.train) == 72
    assert parts.train.names[0] == f"a/{a.names[splits.train[0][0]]}"
    assert parts.evaluate.names == tuple(t.names[i] for i in splits.evaluate)
    np.testing.assert_array_equal(parts.adapt.labels, t.labels[splits.adapt])


def test_what_cannot_be_split_is_refused() -> None:
    a, t = domain("a"), domain("t")
    with pytest.raises(SettingError, match=r"named twice.*also a source.*holdout.*target_fraction"):
        split([t, t], t, seed=0, holdout=1.0, target_fraction=0.0)
    with pytest.raises(SettingError, match="no source"):
        split([], t, seed=0)
    with pytest.raises(UnknownName, match="example"):
        split([a], t, seed=0, by="exampel")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=r"validation of 'a', adapt of 't'"):
        split([domain("a", 3)], domain("t", 3), seed=0, holdout=0.1, target_fraction=0.1)
    other = ArrayDomain("o", a.images, a.labels, a.names, ("x", "y", "z"))
    with pytest.raises(SettingError, match="other classes"):
        split([a], other, seed=0)
    assert len(split([a], t, seed=0, holdout=0.0).validation[0]) == 0
