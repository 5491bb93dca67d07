# SPDX-License-Identifier: Apache-2.0
"""PYTEST_DONT_REWRITE. Complex tensors inside a model: rotary embeddings, Fourier transforms, iterations;
and rolls by run-time numbers."""

import pytest
import torch

import dycl
from tests.frontend.support.compare import differences


def rotary(x):
    length, half = x.shape[1], x.shape[3] // 2
    turns = torch.polar(torch.ones(length, half),
                        torch.outer(torch.arange(length).float(), 1 / 100 ** (torch.arange(half) / half)))
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    y = torch.view_as_real(pairs * turns.view(1, length, 1, half)).flatten(3)
    if y.sum() > 0:
        y = torch.view_as_real(pairs * torch.conj(turns).view(1, length, 1, half)).flatten(-2)
    return y.type_as(x)


def mixed_by_fourier(x):
    y = torch.fft.fft(torch.fft.fft(x[..., 0, :], dim=-1), dim=-2).real
    return y, torch.fft.fft2(y).imag if y.mean() > 0 else torch.fft.ifft2(torch.complex(y, y)).real


def low_frequencies(x):
    spectrum = torch.fft.rfft(x, dim=1, norm="ortho")
    out = torch.zeros_like(spectrum)
    weight = torch.complex(torch.ones(4, 4), torch.full((4, 4), 0.5))
    for k in range(2):
        out[:, k] = spectrum[:, k] @ weight
    if spectrum.abs().mean() > 2:
        out = out * 2
    return torch.fft.irfft(out, n=x.shape[1], dim=1, norm="ortho"), torch.angle(spectrum[:, 1:2]), spectrum.abs().pow(2)


def period_by_autocorrelation(x):
    spectrum = torch.fft.rfft(x, dim=1)
    correlation = torch.fft.irfft(spectrum * torch.conj(spectrum), n=x.shape[1], dim=1)
    delay = int(correlation.mean((0, 2, 3))[1:].argmax()) + 1
    return torch.roll(x, -delay, 1), torch.roll(x, (delay, 1), (1, 3)), delay


def quotients(x):
    z = torch.view_as_complex(x.reshape(-1, 2))
    w, v, u = z / (z + 2), (z - 1) / z.abs(), torch.exp(z * 0.1)
    if torch.cat([z, w]).mean().real > 0:
        return torch.view_as_real(w), v.imag, (1 - u).real
    return torch.view_as_real((z.unsqueeze(0) * z.unsqueeze(1)).sum(0)), torch.stack([u, v], -1).abs(), -z.real


def iterated(x):
    z = torch.view_as_complex(x.reshape(-1, 2))
    c, n = z * 0.5, 0
    while z.abs().max() < 4 and n < 20:
        z, n = z * z + c, n + 1
    return torch.view_as_real(z), n


def spectrogram(x):
    z = torch.stft(x.reshape(1, -1), 16, 8, window=torch.hann_window(16), return_complex=True)
    return torch.view_as_real(z) if z.abs().mean() > 3 else z.abs() ** 2


def gated_sound(x):
    window = torch.hann_window(16)
    z = torch.stft(x.reshape(1, -1), 16, 4, window=window, return_complex=True)
    loud = z.abs() > z.abs().mean()
    return torch.istft(z * loud if loud.sum() > 50 else z, 16, 4, window=window, length=x.numel())


@pytest.mark.parametrize("function",
                         [rotary, mixed_by_fourier, low_frequencies, period_by_autocorrelation, quotients, iterated,
                          spectrogram, gated_sound], ids=lambda f: f.__name__)
def test_complex_inside(function):
    torch.manual_seed(0)
    shape = (2, 8, 2, 4) if function is not low_frequencies else (2, 8, 4)
    program = dycl.compile(function, (torch.randn(shape),))
    for k in range(9):
        x = torch.randn(shape) * (0.2 + k % 3)
        assert differences(function(x), program(x), rtol=1e-3, atol=1e-3) == []


def test_complex_results_and_inputs_are_refused():
    with pytest.raises(dycl.CompileError, match="complex result"):
        dycl.compile(lambda x: torch.view_as_complex(x), (torch.randn(3, 2),))
    with pytest.raises(dycl.CompileError, match="complex"):
        dycl.compile(lambda z: z.abs(), (torch.randn(3, dtype=torch.complex64),))


def test_constants_that_share_memory_but_not_the_sign():
    z = torch.randn(4, dtype=torch.complex64)
    minus = torch.conj(z).imag  # torch flips its sign when it is read
    program = dycl.compile(lambda x: (x + minus, x + z.imag), (torch.ones(4),))
    assert torch.equal(program(torch.ones(4))[0], 1 + minus) and torch.equal(program(torch.ones(4))[1], 1 + z.imag)
