from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orda.errors import SettingError
from orda.seeds import as_generator, child, children, generator, torch_generator

NAMES = st.lists(st.one_of(st.text(max_size=5), st.integers(-5, 5)), max_size=3)


@given(st.integers(0, 2**40), NAMES, NAMES)
def test_streams_are_equal_exactly_when_their_names_are(seed: int, one: list[str | int], two: list[str | int]) -> None:
    assert (child(seed, *one) == child(seed, *two)) == ([(type(x), x) for x in one] == [(type(x), x) for x in two])


def test_seeds_are_stable_across_versions() -> None:
    assert child(0) == 3456079177858693020
    assert child(0, "plan", 3) == 4814355979601290666


def test_a_child_fits_every_generator() -> None:
    seeds = [child(s, "x") for s in range(100)]
    assert all(0 <= s < 2**63 for s in seeds)
    assert len(set(seeds)) == 100
    torch_generator(1, "x")


def test_children_depend_on_the_state_alone_and_move_it() -> None:
    one, two = generator(0, "a"), np.random.default_rng()
    two.bit_generator.state = one.bit_generator.state  # as after a resume
    first = [c.random() for c in children(one, 3)]
    assert first == [c.random() for c in children(two, 3)]
    assert first != [c.random() for c in children(one, 3)]
    assert len(set(first)) == 3


@pytest.mark.parametrize("wrong", ["0", 1.5, None, True, np.random.RandomState(0)])
def test_a_generator_of_the_wrong_kind_is_refused(wrong: object) -> None:
    with pytest.raises(SettingError, match=r"int or a numpy\.random\.Generator; got .*\. Pass e\.g\. seed=0"):
        as_generator(wrong)  # type: ignore[arg-type]


def test_a_generator_is_used_as_it_is() -> None:
    rng = np.random.default_rng(0)
    assert as_generator(rng) is rng
    assert as_generator(3, "plan").random() == generator(3, "plan").random()
