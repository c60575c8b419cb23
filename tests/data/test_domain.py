"""The array behind a domain: gathering, subsets, joins, residence."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from orda.data import domain as module
from orda.data.domain import ArrayDomain, View, join
from orda.errors import DataError

CLASSES = ("ant", "bee", "cow")


def domain(name: str = "a", n: int = 12, size: tuple[int, int] = (4, 5), seed: int = 0) -> ArrayDomain:
    rng = np.random.default_rng(seed)
    return ArrayDomain(
        name,
        rng.integers(0, 256, (n, *size, 3), dtype=np.uint8),
        rng.integers(0, 3, n),
        tuple(f"{i}.png" for i in range(n)),
        CLASSES,
    )


@given(data=st.data())
def test_subsets_and_joins_are_plain_indexing(data: st.DataObject) -> None:
    """Any tree of subsets and joins reads as the same operations on copied arrays."""
    current = domain("x", 7, seed=1)
    images, labels = np.array(current.images), current.labels.copy()
    for step in range(data.draw(st.integers(1, 4))):
        if data.draw(st.booleans()):
            index = np.array(data.draw(st.lists(st.integers(-len(labels), len(labels) - 1), min_size=1, max_size=9)))
            current, images, labels = current.subset(index), images[index], labels[index]
        else:
            other = domain(f"y{step}", 5, seed=step + 2)
            current = join([current, other])
            images, labels = np.concatenate([images, other.images]), np.concatenate([labels, other.labels])
    assert len(current) == len(labels)
    index = np.array(data.draw(st.lists(st.integers(-len(labels), len(labels) - 1), max_size=9)), dtype=np.int64)
    for indexed in (index, torch.from_numpy(index), index.tolist()):
        x, y = current.gather(indexed)
        np.testing.assert_array_equal(x.numpy(), images[index])
        np.testing.assert_array_equal(y.numpy(), labels[index])
        assert x.dtype == torch.uint8
        assert y.dtype == torch.int64
    np.testing.assert_array_equal(np.asarray(current.images), images)
    x, y = current.gather(slice(1, 3))
    np.testing.assert_array_equal(x.numpy(), images[1:3])
    resident = current.on("cpu")
    x, y = resident.gather(index)
    np.testing.assert_array_equal(x.numpy(), images[index])
    np.testing.assert_array_equal(y.numpy(), labels[index])
    one, label = current[-1]
    np.testing.assert_array_equal(one.numpy(), images[-1])
    assert label == labels[-1]


def test_names_follow_the_examples() -> None:
    a, b = domain("a"), domain("b", seed=1)
    assert a.subset([3, 1]).names == ("3.png", "1.png")
    assert join([a.subset([2]), b.subset([5])]).names == ("a/2.png", "b/5.png")
    assert join([a, b]).name == "a+b"
    assert join([a, b], "both").name == "both"
    assert join([a]) is a


def test_nothing_stored_is_copied_by_subset_or_join_and_nothing_gathered_is_shared() -> None:
    a = domain()
    both = join([a.subset([3, 1]), domain("b")])
    assert isinstance(both.images, View)
    assert both.images.parts[0] is a.images
    assert both.images.ndim == 4
    x, y = a.gather(slice(0, 2))
    before = np.array(a.images), a.labels.copy()
    x.zero_()
    y.fill_(7)
    a.gather([0])[0].zero_()
    np.testing.assert_array_equal(a.images, before[0])
    np.testing.assert_array_equal(a.labels, before[1])


def test_a_view_is_an_array_to_numpy() -> None:
    view = domain().subset([1, 2]).images
    assert isinstance(view, View)
    assert np.asarray(view, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        np.array(view, copy=False)


def test_a_resident_domain_is_whole_and_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 5)
    a = domain()
    resident = a.on("cpu")
    np.testing.assert_array_equal(resident.images, a.images)
    resident.gather(slice(0, 2))[0].zero_()
    resident.gather([0, -1])[0].zero_()
    np.testing.assert_array_equal(resident.images, a.images)
    assert resident.on("cpu").images is resident.images
    with pytest.raises(IndexError):
        resident.gather([12])
    with pytest.raises(IndexError):
        a.gather([12])


def test_joining_resident_domains_keeps_them_there() -> None:
    both = join([domain("a").on("cpu"), domain("b", seed=1).on("cpu")])
    assert isinstance(both.images, torch.Tensor)
    np.testing.assert_array_equal(both.subset([13]).images, domain("b", seed=1).images[1:2])


def test_it_is_map_style_for_any_loader() -> None:
    a = domain()
    batches = list(DataLoader(a, batch_size=5))  # type: ignore[arg-type]
    np.testing.assert_array_equal(torch.cat([x for x, _ in batches]).numpy(), a.images)
    np.testing.assert_array_equal(torch.cat([y for _, y in batches]).numpy(), a.labels)
    with pytest.raises(IndexError, match="12"):
        a[12]


def test_a_mapped_domain_travels_to_a_worker_as_a_path(tmp_path: Path) -> None:
    a = domain(n=2000, size=(16, 16))
    np.save(tmp_path / "images.npy", a.images)
    mapped = ArrayDomain("a", np.load(tmp_path / "images.npy", mmap_mode="r"), a.labels, a.names, CLASSES)
    for sent in (mapped, mapped.subset(np.arange(5)), join([mapped, domain("b", size=(16, 16))])):
        blob = pickle.dumps(sent)
        assert len(blob) < 0.1 * a.images.nbytes
        back = pickle.loads(blob)
        np.testing.assert_array_equal(np.asarray(back.images), np.asarray(sent.images))
        assert back.names == sent.names
        np.testing.assert_array_equal(back.labels, sent.labels)
    sliced = ArrayDomain("a", mapped.images[5:], a.labels[5:], a.names[5:], CLASSES)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(sliced)).images, a.images[5:])


def test_what_is_wrong_is_said_all_at_once() -> None:
    a = domain()
    with pytest.raises(DataError, match=r"images must be .* labels must lie in 0\.\.0.* 12 names, not 1"):
        ArrayDomain("bad", np.asarray(a.images)[..., :2], a.labels, ("x",), ("only",))
    with pytest.raises(DataError, match="labels must be"):
        ArrayDomain("bad", a.images, a.labels[:3], a.names, CLASSES)
    other = ArrayDomain("other", a.images, a.labels, a.names, ("p", "q", "r"))
    with pytest.raises(DataError, match=r"'other'.*'small'"):
        join([a, other, domain("small", size=(2, 2))])
