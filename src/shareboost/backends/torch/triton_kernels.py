"""Kernels for CUDA devices that read each number once, written in Triton."""

# Triton takes no annotations but its own.
# mypy: disable-error-code="no-untyped-def"
import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn.functional import pad

# Tiles of ``code_sums``: atoms, examples at a time, and examples that a program sums. Products of
# two bytes do not overflow 32 bits in such a sum.
ATOMS, EXAMPLES, SPLIT = 32, 256, 16384
# Classes that are summed at a time, three numbers each.
CLASSES = 21


def masked_maxima(responses: Tensor, down: Tensor, across: Tensor) -> Tensor:
    """Return the largest response under every mask; see ``kernels.masked_maxima``."""
    n, height, width, f = responses.shape
    a, b = len(down), len(across)
    out = torch.empty((n, a, b, f), dtype=torch.float32, device=responses.device)
    rows, columns = triton.next_power_of_2(a), triton.next_power_of_2(b)
    block = max(16, min(4096 // (rows * columns), triton.next_power_of_2(f), 256))
    _masked_maxima[(n, triton.cdiv(f, block))](
        responses.contiguous(), down, across, out, height, width, f, a, b,
        A=rows, B=columns, BLOCK=block, num_warps=4,
    )  # fmt: skip
    return out


def template_column(
    images: Tensor, template: Tensor, down: Tensor, across: Tensor, out: Tensor
) -> None:
    """Write the largest masked response of each image; see ``kernels.template_column``."""
    (rows, columns, channels), line = template.shape, images.shape[2] * images.shape[3]
    images = images.flatten(1)
    images = images if images.stride(1) == 1 else images.contiguous()
    _template_column[(len(images),)](
        images, template.contiguous(), down, across, out, images.stride(0), line, channels,
        rows, columns * channels, len(down), len(across),
        PLACES=triton.next_power_of_2(len(down) * len(across)), num_warps=4,
    )  # fmt: skip


def code_sums(codes: Tensor, rows: Tensor) -> Tensor:
    """Return ``rows @ codes.T``, (k, c), in float64: codes (c, n), signed bytes; rows (k, n).

    A row's numbers are rounded to 24 bits of its largest, three signed bytes. So sums are exact.
    """
    if len(rows) > CLASSES:
        return torch.cat([code_sums(codes, some) for some in rows.split(CLASSES)])
    codes = codes if codes.stride(1) == 1 else codes.contiguous()
    (c, n), k = codes.shape, len(rows)
    largest = torch.amax(rows.abs(), dim=1, keepdim=True).double()
    unit = torch.where(largest > 0.0, largest, 1.0) / 126.0
    rest, units, digits = rows / unit, [], []
    for _ in range(3):
        digits.append(torch.round(rest))
        rest = (rest - digits[-1]) * 254.0
        units.append(unit)
        unit = unit / 254.0
    width, whole = max(16, triton.next_power_of_2(3 * k)), triton.cdiv(n, EXAMPLES) * EXAMPLES
    stacked = torch.zeros((width, whole), dtype=torch.int8, device=rows.device)
    stacked[: 3 * k, :n] = torch.cat(digits)
    n_splits = triton.cdiv(n, SPLIT)
    sums = torch.empty((n_splits, c, width), dtype=torch.int32, device=rows.device)
    _code_sums[(triton.cdiv(c, ATOMS), n_splits)](
        codes, stacked, sums, c, n, codes.stride(0), whole,
        K=width, ATOMS=ATOMS, EXAMPLES=EXAMPLES, SPLIT=SPLIT, num_warps=2, num_stages=4,
    )  # fmt: skip
    total = sums.sum(dim=0)[:, : 3 * k].T.double() * torch.cat(units)
    return total.unflatten(0, (3, k)).sum(dim=0)


def softmax_residual(scores: Tensor, y: Tensor, weight: Tensor, margin: float) -> Tensor:
    """Overwrite scores, (k, n), with the residual, as ``LogisticLoss``; return the total loss."""
    k, n = scores.shape
    rows = triton.next_power_of_2(k)
    block = max(32, min(256, 8192 // rows))
    losses = torch.empty(triton.cdiv(n, block), dtype=torch.float64, device=scores.device)
    _softmax_residual[(len(losses),)](
        scores, y, weight, losses, k, n, scores.stride(0),
        MARGIN=float(margin), K=rows, BLOCK=block, num_warps=4,
    )  # fmt: skip
    return losses.sum()


def shell_moments(
    points: Tensor, shifts: Tensor, rows: Tensor, tiles: Tensor, depths: Tensor, edges: Tensor,
    power: int,
) -> Tensor:  # fmt: skip
    """Return ``pieces.moments`` of power 0 or 1, of tiles and depths, (tiles, rows of a tile).

    Those of shell s are from ``edges[s]`` to ``edges[s + 1]``.
    """
    n_shells, width = shifts.shape
    k = rows.shape[1]
    out = torch.empty((n_shells, (1 + power) * k, width), dtype=torch.float32, device=points.device)
    # Rows that begin at whole lines of memory are read faster.
    wide, classes = max(16, triton.next_power_of_2(width)), triton.next_power_of_2(k)
    points, shifts = (pad(values, (0, wide - width)) for values in (points, shifts))
    rows = pad(rows, (0, classes - k))
    _shell_moments[(n_shells,)](
        points, shifts, rows, tiles, depths, edges, out, k, width,
        ROWS=tiles.shape[1], POWER=power, CLASSES=classes, K=max(16, (1 + power) * classes),
        WIDTH=wide, num_warps=4,
    )  # fmt: skip
    return out


@triton.jit
def _masked_maxima(
    responses, down, across, out, height, width, f, a, b,
    A: tl.constexpr, B: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    image = tl.program_id(0).to(tl.int64)
    lane = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    above, beside = tl.arange(0, A), tl.arange(0, B)
    inside = lane < f
    best = tl.full((A, B, BLOCK), float("-inf"), tl.float32)
    for y in range(height):
        row = tl.full((B, BLOCK), float("-inf"), tl.float32)
        for x in range(width):
            place = ((image * height + y) * width + x) * f
            response = tl.load(responses + place + lane, mask=inside, other=0.0)
            weight = tl.load(across + beside * width + x, mask=beside < b, other=0.0)
            row = tl.maximum(row, weight[:, None] * response[None, :])
        weight = tl.load(down + above * height + y, mask=above < a, other=0.0)
        best = tl.maximum(best, weight[:, None, None] * row[None, :, :])
    mask = above[:, None, None] * b + beside[None, :, None]
    target = out + (image * a * b + mask) * f + lane[None, None, :]
    known = (above < a)[:, None, None] & (beside < b)[None, :, None] & inside[None, None, :]
    tl.store(target, best, mask=known)


@triton.jit
def _template_column(
    images, template, down, across, out, stride, line,
    channels, height, width, n_down, n_across, PLACES: tl.constexpr,
):  # fmt: skip
    image = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, PLACES)
    y, x = place // n_across, place % n_across
    inside = place < n_down * n_across
    corner = images + image * stride + y * line + x * channels
    response = tl.zeros((PLACES,), dtype=tl.float32)
    for dy in range(height):
        for dx in range(width):
            weight = tl.load(template + dy * width + dx)
            pixel = tl.load(corner + dy * line + dx, mask=inside, other=0)
            response += weight * pixel.to(tl.float32)
    row = tl.load(across + x, mask=inside, other=0.0) * response
    masked = tl.load(down + y, mask=inside, other=0.0) * row
    tl.store(out + image, tl.max(tl.where(inside, masked, float("-inf")), axis=0))


@triton.jit
def _code_sums(
    codes, rows, sums, c, n, code_stride, row_stride,
    K: tl.constexpr, ATOMS: tl.constexpr, EXAMPLES: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    atom = tl.program_id(0) * ATOMS + tl.arange(0, ATOMS)
    split = tl.program_id(1)
    row = tl.arange(0, K).to(tl.int64)
    total = tl.zeros((ATOMS, K), dtype=tl.int32)
    known = (atom < c)[:, None]
    stop = tl.minimum(n, (split + 1) * SPLIT)
    for start in range(split * SPLIT, stop, EXAMPLES):
        example = start + tl.arange(0, EXAMPLES)
        place = atom.to(tl.int64)[:, None] * code_stride + example[None, :]
        code = tl.load(codes + place, mask=known & (example < n)[None, :], other=0)
        # Beyond the last example the rows are zeros.
        digit = tl.load(rows + row[None, :] * row_stride + example[:, None])
        total = tl.dot(code, digit, acc=total, out_dtype=tl.int32)
    target = sums + (split.to(tl.int64) * c + atom[:, None]) * K + row[None, :]
    tl.store(target, total, mask=known)


@triton.jit
def _softmax_residual(
    scores, y, weight, losses, k, n, stride,
    MARGIN: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    example = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.arange(0, K)
    known = example < n
    inside = (row < k)[:, None] & known[None, :]
    true = tl.load(y + example, mask=known, other=0)
    mass = tl.load(weight + example, mask=known, other=0.0)
    place = scores + row.to(tl.int64)[:, None] * stride + example[None, :]
    score = tl.load(place, mask=inside, other=float("-inf"))
    is_true = row[:, None] == true[None, :]
    score = tl.where(is_true, score - MARGIN, score)
    score -= tl.max(score, axis=0)[None, :]
    of_true = tl.sum(tl.where(is_true, score, 0.0), axis=0)
    exps = tl.exp(score)
    rest = tl.sum(tl.where(is_true, 0.0, exps), axis=0)
    total = rest + tl.exp(of_true)
    share = mass / total
    residual = tl.where(is_true, -(rest * share)[None, :], exps * share[None, :])
    tl.store(place, residual, mask=inside)
    # log1p of a small number, by its quotient with what rounding made of it.
    near = 1.0 + rest
    small = tl.where(near == 1.0, rest, tl.log(near) * (rest / (near - 1.0)))
    loss = tl.where(of_true == 0.0, small, tl.log(total) - of_true)
    loss = tl.where(known, loss, 0.0).to(tl.float64) * mass.to(tl.float64)
    tl.store(losses + tl.program_id(0), tl.sum(loss, axis=0))


@triton.jit
def _shell_moments(
    points, shifts, rows, tiles, depths, edges, out, k, width, ROWS: tl.constexpr,
    POWER: tl.constexpr, CLASSES: tl.constexpr, K: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    shell = tl.program_id(0)
    place = tl.arange(0, ROWS)
    line, j = tl.arange(0, K), tl.arange(0, WIDTH)
    q, power = line % CLASSES, line // CLASSES
    shift = tl.load(shifts + shell * WIDTH + j)
    total = tl.zeros((K, WIDTH), dtype=tl.float32)
    for tile in range(tl.load(edges + shell), tl.load(edges + shell + 1)):
        row = tl.load(tiles + tile * ROWS + place).to(tl.int64)
        depth = tl.load(depths + tile * ROWS + place)
        residual = tl.load(rows + row[None, :] * CLASSES + q[:, None])
        residual = tl.where((power > 0)[:, None], residual * depth[None, :], residual)
        point = tl.load(points + row[:, None] * WIDTH + j[None, :])
        # A row of zeros fills the last tile up: its residual is 0.
        total += tl.dot(residual, point - shift[None, :], input_precision="tf32x3")
    target = out + (shell.to(tl.int64) * (1 + POWER) * k + power[:, None] * k + q[:, None]) * width
    known = (power <= POWER) & (q < k)
    tl.store(target + j[None, :], total, mask=known[:, None] & (j < width)[None, :])
