"""The algorithms, literally: loops over examples and classes, Adam and both players' gradients by hand.

Nothing here is shared with ``orda.algorithms``: a network is called, everything else is written out. Gradient reversal
is not an operation here: the gradients of both losses are taken apart and put together with their signs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn


def cross_entropy(logits: Tensor, label: int) -> Tensor:
    """−log softmax(logits)_label of one example."""
    return -(logits[label] - torch.log(sum((torch.exp(value) for value in logits), logits.new_zeros(()))))


def weighted_task(logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    total = logits.new_zeros(())
    for i in range(len(labels)):
        total = total + float(weights[i]) * cross_entropy(logits[i], int(labels[i]))
    return total


def binary_cross_entropy(logit: Tensor, target: float) -> Tensor:
    """−t log σ(logit) − (1 − t) log(1 − σ(logit))."""
    sigma = 1 / (1 + torch.exp(-logit))
    return -target * torch.log(sigma) - (1 - target) * torch.log(1 - sigma)


def reversal_coefficient(step: int, alpha: float = 10.0, high: float = 1.0, max_iter: float = 10000.0) -> float:
    """The schedule as the authors of CDAN write it (low = 0): 2·high/(1 + e^(−alpha·i/max_iter)) − high."""
    return 2.0 * high / (1.0 + math.exp(-alpha * step / max_iter)) - high


def outer_product(z: Tensor, p: Tensor) -> Tensor:
    """h[i] lists p_ic z_ij, class after class."""
    rows = []
    for i in range(len(z)):
        rows.append(torch.stack([p[i, c] * z[i, j] for c in range(p.shape[1]) for j in range(z.shape[1])]))
    return torch.stack(rows)


def entropy(p: Tensor) -> float:
    return -sum(float(q) * math.log(float(q)) for q in p if float(q) > 0)


def entropy_weights(w: Tensor, p: Tensor) -> list[float]:
    raw = [float(w[i]) * (1 + math.exp(-entropy(p[i]))) for i in range(len(w))]
    return [value / sum(raw) for value in raw]


def mcc(logits: Tensor, weights: Tensor, temperature: float) -> Tensor:
    """MCC as published, the weights normalised to sum to the batch size (times n·w_i where weights are not equal)."""
    n, classes = logits.shape
    p = torch.stack([torch.softmax(row / temperature, 0) for row in logits])
    raw = [n * float(weights[i]) * (1 + math.exp(-entropy(p[i].detach()))) for i in range(n)]
    omega = [n * value / sum(raw) for value in raw]
    total = logits.new_zeros(())
    for c in range(classes):
        row = [
            sum((omega[i] * p[i, c] * p[i, other] for i in range(n)), total.new_zeros(())) for other in range(classes)
        ]
        row_sum = sum(row, total.new_zeros(()))
        for other in range(classes):
            if other != c:
                total = total + row[other] / row_sum
    return total / classes


def linear_mmd(zs: Tensor, zt: Tensor, ws: Tensor, wt: Tensor) -> Tensor:
    difference = zs.new_zeros(zs.shape[1])
    for i in range(len(zs)):
        difference = difference + float(ws[i]) * zs[i]
    for j in range(len(zt)):
        difference = difference - float(wt[j]) * zt[j]
    return (difference * difference).sum()


def rbf_mmd(zs: Tensor, zt: Tensor, ws: Tensor, wt: Tensor, gammas: Sequence[float]) -> Tensor:
    points, signs = [*zs, *zt], [*ws.tolist(), *(-wt).tolist()]
    total = zs.new_zeros(())
    for a, x in zip(signs, points, strict=True):
        for b, y in zip(signs, points, strict=True):
            distance = ((x - y) * (x - y)).sum()
            total = total + a * b * sum((torch.exp(-gamma * distance) for gamma in gammas), zs.new_zeros(()))
    return total


def coral(zs: Tensor, zt: Tensor, ws: Tensor, wt: Tensor, sizes: tuple[int, int], factor: float) -> Tensor:
    def covariance(z: Tensor, w: Tensor, n: int) -> Tensor:
        mean = sum((float(w[i]) * z[i] for i in range(len(z))), z.new_zeros(z.shape[1]))
        total = z.new_zeros(z.shape[1], z.shape[1])
        for i in range(len(z)):
            total = total + float(w[i]) * torch.outer(z[i] - mean, z[i] - mean)
        return total * n / (n - 1)

    difference = covariance(zs, ws, sizes[0]) - covariance(zt, wt, sizes[1])
    return factor * (difference * difference).sum()


def supports(domains: Sequence[int], size: int) -> list[list[int]]:
    """For every example the positions of its support."""
    found: list[list[int]] = [[] for _ in domains]
    for domain in set(domains):
        members = [i for i, value in enumerate(domains) if value == domain]
        chunks = [members[start : start + size] for start in range(0, len(members), size)]
        for chunk in chunks:
            support = chunk if len(chunk) == size else members[-size:]
            for i in chunk:
                found[i] = support
    return found


@dataclass
class Adam:
    """Adam of Kingma and Ba, with L2 decay in the gradient."""

    lr: float
    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    t: int = 0
    m: list[Tensor] = field(default_factory=list)
    v: list[Tensor] = field(default_factory=list)

    @torch.no_grad()
    def step(self, parameters: Sequence[Tensor], gradients: Sequence[Tensor]) -> None:
        if not self.m:
            self.m = [torch.zeros_like(p) for p in parameters]
            self.v = [torch.zeros_like(p) for p in parameters]
        self.t += 1
        b1, b2 = self.betas
        for k, (p, g) in enumerate(zip(parameters, gradients, strict=True)):
            g = g + self.weight_decay * p
            self.m[k] = b1 * self.m[k] + (1 - b1) * g
            self.v[k] = b2 * self.v[k] + (1 - b2) * g * g
            m_hat, v_hat = self.m[k] / (1 - b1**self.t), self.v[k] / (1 - b2**self.t)
            p.copy_(p - self.lr * m_hat / (torch.sqrt(v_hat) + self.eps))


def gradients(loss: Tensor, parameters: Sequence[Tensor]) -> list[Tensor]:
    found = torch.autograd.grad(loss, list(parameters), retain_graph=True, allow_unused=True)
    return [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, found, strict=True)]


def combine(a: Sequence[Tensor], factor: float, b: Sequence[Tensor]) -> list[Tensor]:
    return [x + factor * y for x, y in zip(a, b, strict=True)]


@dataclass
class Players:
    """Featuriser, head and discriminator with their losses on one minibatch."""

    featurizer: Callable[[Tensor], Tensor]
    head: Callable[[Tensor], Tensor]
    discriminator: nn.Module
    xs: Tensor
    ys: Tensor
    ws: Tensor
    xt: Tensor
    wt: Tensor
    conditional: bool = False
    entropy: bool = False
    eps: float = 0.0

    def task(self) -> Tensor:
        return weighted_task(self.head(self.featurizer(self.xs)), self.ys, self.ws)

    def domain(self) -> Tensor:
        """½ Σ a BCE(D(h_s), 1 − ε) + ½ Σ b BCE(D(h_t), ε)."""
        total = self.xs.new_zeros(())
        for x, w, target in ((self.xs, self.ws, 1 - self.eps), (self.xt, self.wt, self.eps)):
            h, weights = self.featurizer(x), w.tolist()
            if self.conditional:
                p = torch.softmax(self.head(h), 1).detach()
                weights = entropy_weights(w, p) if self.entropy else weights
                h = outer_product(h, p)
            for i in range(len(x)):
                total = total + 0.5 * weights[i] * binary_cross_entropy(self.discriminator(h[i : i + 1])[0, 0], target)
        return total


def alternating_domain(
    discriminator: nn.Module, zs: Tensor, zt: Tensor, ws: Tensor, wt: Tensor, grad_penalty: float
) -> Tensor:
    """Σ a CE(D(z), domain) + grad_penalty Σ a ‖∂CE/∂z‖², a = half of each domain's weights, example by example."""
    total = zs.new_zeros(())
    for domain, z, w in ((0, zs, ws), (1, zt, wt)):
        for i in range(len(z)):
            one = z[i] if z.requires_grad else z[i].requires_grad_()
            loss = cross_entropy(discriminator(one.unsqueeze(0))[0], domain)
            (slope,) = torch.autograd.grad(loss, one, create_graph=True)
            total = total + 0.5 * float(w[i]) * (loss + grad_penalty * (slope * slope).sum())
    return total
