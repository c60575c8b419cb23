"""Work in fixed pieces: the same results, bit for bit, for any number of threads."""

from __future__ import annotations

import threading

import pytest
import torch

from orda.kernels import Kernel, Linear, RBFMixture, SquaredInner, gram_matrix, mean_kernel
from orda.threads import in_pieces


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_pieces(threads: int) -> None:
    torch.set_num_threads(threads)
    assert list(in_pieces(lambda i: i * i, range(100))) == [i * i for i in range(100)]


def test_inside_a_piece_torch_has_one_thread_and_no_gradients_and_outside_what_it_had() -> None:
    torch.set_num_threads(3)
    inside = list(in_pieces(lambda _: (torch.get_num_threads(), torch.is_grad_enabled()), range(10)))
    assert set(inside) == {(1, False)}
    assert torch.get_num_threads() == 3
    later: list[int] = []
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert later == [3]


def test_a_worker_that_starts_without_work_has_one_thread_all_the_same() -> None:
    torch.set_num_threads(7)  # a number of workers that no other test has
    meeting = threading.Barrier(7, timeout=60)
    list(in_pieces(lambda _: meeting.wait(), range(7)))  # all have started, and none has asked torch for anything

    def threads(_: int) -> int:
        meeting.wait()
        return torch.get_num_threads()

    assert set(in_pieces(threads, range(7))) == {1}


def test_pieces_inside_pieces() -> None:
    torch.set_num_threads(2)
    assert list(in_pieces(lambda i: sum(in_pieces(lambda j: i * j, range(5))), range(4))) == [0, 10, 20, 30]
    assert torch.get_num_threads() == 2


def test_pieces_inside_pieces_do_not_wait_for_each_other_whatever_torch_says() -> None:
    torch.set_num_threads(2)

    def inner(i: int) -> int:
        torch.set_num_threads(2)  # as a library might
        return sum(in_pieces(lambda j: i * j, range(5)))

    assert list(in_pieces(inner, range(4))) == [0, 10, 20, 30]


def test_a_piece_that_sets_a_number_of_threads_sets_it_for_itself_alone() -> None:
    torch.set_num_threads(2)
    list(in_pieces(lambda _: torch.set_num_threads(2), range(10)))
    assert set(in_pieces(lambda _: torch.get_num_threads(), range(50))) == {1}
    assert torch.get_num_threads() == 2


def test_an_exception_comes_out_and_leaves_the_threads_as_they_were() -> None:
    torch.set_num_threads(2)
    with pytest.raises(ZeroDivisionError):
        list(in_pieces(lambda i: 1 // (3 - i), range(10)))
    assert torch.get_num_threads() == 2


def test_work_that_nobody_waits_for_is_dropped() -> None:
    torch.set_num_threads(2)
    results = in_pieces(lambda i: i, range(1000))
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kernel", [Linear(), SquaredInner(), RBFMixture()])
def test_gram_matrices_and_their_means_do_not_depend_on_the_threads(kernel: Kernel, dtype: torch.dtype) -> None:
    draw = torch.Generator().manual_seed(0)
    x, y = torch.randn(777, 5, generator=draw, dtype=dtype), torch.randn(501, 5, generator=draw, dtype=dtype)
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append((gram_matrix(kernel, x), mean_kernel(kernel, x, y), mean_kernel(kernel, x, x)))
    for gram, *means in found[1:]:
        assert torch.equal(gram, found[0][0])
        assert tuple(means) == found[0][1:]
    direct, close = kernel.gram(x.double(), x.double()), 1e-3 if dtype == torch.float32 else 1e-9
    torch.testing.assert_close(found[0][0].double(), direct, rtol=close, atol=close)
    assert found[0][2] == pytest.approx(float(direct.mean()), rel=1e-4)
