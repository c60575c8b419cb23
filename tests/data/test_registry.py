"""Data sets by name: what opens, which tasks there are, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from references.datasets import write_office_home, write_spawrious

from orda.data import AUGMENTATIONS, DATASETS, NORMALISATIONS, find_task, open_data, pair, split, tasks
from orda.data.digits import DOMAINS as DIGITS
from orda.errors import DamagedImages, DataError, SettingError, UnknownName

MakeFolder = Callable[..., Path]


def test_digits_need_nothing() -> None:
    data = open_data("digits", task=pair("rendered", "handwritten"))
    assert list(data.domains) == ["rendered", "handwritten"]
    assert (data.image_size, data.split_by, len(data.classes)) == (8, "name", 10)
    sources, target = data.of(pair("rendered", "handwritten"))
    assert [source.name for source in sources] == ["rendered"]
    assert target.name == "handwritten"
    assert list(open_data("digits").domains) == list(DIGITS)


def test_two_looks_of_the_same_digits_are_split_honestly() -> None:
    data = open_data("digits")
    sources, target = data.of(pair("handwritten", "handwritten-inverted"))
    parts = split(sources, target, seed=0, by=data.split_by).domains(sources, target)
    assert not set(parts.evaluate.names) & {*parts.train.names, *parts.validation[0].names, *parts.adapt.names}
    assert len(parts.train) + len(parts.validation[0]) == len(parts.adapt) == 898


def test_a_folder(make_folder: MakeFolder) -> None:
    root = make_folder(["a", "b", "c"])
    data = open_data("folder", root, domains=["c", "a"], size=6)
    assert list(data.domains) == ["c", "a"]
    assert data.domains["a"].size == (6, 6)
    assert (data.classes, data.augmentation, data.image_size) == (("ant", "bee"), "domainbed", 6)
    assert {task.name for task in tasks("folder", root)} == {f"{s}->{t}" for s, t in permutations("abc", 2)}


def test_office_home(tmp_path: Path) -> None:
    write_office_home(tmp_path)
    data = open_data("office-home", tmp_path, task=pair("Real", "Art"), size=6, complete=False)
    assert list(data.domains) == ["Real", "Art"]
    assert (data.augmentation, data.normalisation) == ("domainbed", "imagenet")
    assert len(tasks("office-home")) == 12
    assert len({task.name for task in tasks("office-home")}) == 12
    with pytest.raises(DataError, match="complete"):
        open_data("office-home", tmp_path, size=6)


def test_spawrious(tmp_path: Path) -> None:
    write_spawrious(tmp_path, count=8)
    assert [task.name for task in tasks("spawrious")] == [
        f"{k}_{d}" for k in ("o2o", "m2m") for d in ("easy", "medium", "hard")
    ]
    task = tasks("spawrious")[0]
    data = open_data("spawrious", tmp_path, task=task, size=4, complete=False)
    sources, target = data.of(task)
    assert [len(source) for source in sources] == [32, 32]
    assert len(target) == 64
    assert data.augmentation == "spawrious"
    assert len(open_data("spawrious", tmp_path, size=4, complete=False).domains) == 18


def test_the_names_that_it_gives_exist() -> None:
    from orda.data.registry import KINDS

    assert {kind.augmentation for kind in KINDS.values()} <= set(AUGMENTATIONS)
    data = open_data("digits", domains=["handwritten"])
    assert data.augmentation in AUGMENTATIONS
    assert {data.normalisation, "imagenet"} <= set(NORMALISATIONS)
    assert set(DATASETS) == {"digits", "office-home", "spawrious", "folder"}


def test_damaged_images_are_counted(make_folder: MakeFolder) -> None:
    root = make_folder()
    (root / "art" / "ant" / "1.png").write_text("broken")
    with pytest.raises(DamagedImages):
        open_data("folder", root, size=4)
    data = open_data("folder", root, size=4, skip_damaged=True)
    assert data.damaged == 1
    assert len(data.domains["art"]) == 5


def test_tasks_by_what_one_would_type(make_folder: MakeFolder) -> None:
    assert find_task("office-home", ["real_world"], "clipart") == pair("Real", "Clipart")
    several = find_task("office-home", ["Art", "Product"], "Real")
    assert (several.name, several.sources, several.target) == ("Art+Product->Real", ("Art", "Product"), "Real")
    assert find_task("digits", ["rendered->handwritten"]) == pair("rendered", "handwritten")
    assert find_task("digits", ["handwritten"], "handwritten-inverted").target == "handwritten-inverted"
    assert find_task("spawrious", ["m2m_hard"]).sources == ("m2m_hard/env1", "m2m_hard/env2")
    assert find_task("folder", ["art"], "photo", root=make_folder()) == pair("art", "photo")
    with pytest.raises(UnknownName, match="m2m_hard"):
        find_task("spawrious", ["m2m_hrad"])
    with pytest.raises(UnknownName, match="handwritten"):
        find_task("digits", ["rendered"], "handwriten")
    with pytest.raises(SettingError, match="source"):
        find_task("digits", [], "handwritten")


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="office-home"):
        open_data("officehome")
    with pytest.raises(UnknownName, match="digits"):
        tasks("digit")
    with pytest.raises(SettingError, match="root"):
        open_data("folder")
    with pytest.raises(SettingError, match="8 × 8"):
        open_data("digits", size=32)
    with pytest.raises(SettingError, match="a task or domains"):
        open_data("digits", task=pair("rendered", "handwritten"), domains=["rendered"])
    data = open_data("digits", domains=["rendered"])
    with pytest.raises(UnknownName, match="handwritten"):
        data.of(pair("rendered", "handwritten"))


def test_the_images_of_a_data_set_cannot_be_changed_by_accident() -> None:
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(open_data("digits", domains=["rendered"]).domains["rendered"].images)[0] = 0
