# SPDX-License-Identifier: Apache-2.0
"""Packages changed on purpose, with their checksums mended: docs/package_format.md says how they are laid out."""

import ctypes
import ctypes.util
import json
import struct
import zlib

_HEADER, _ENTRY, _DEFLATED = 64, 64, 8


def checksum(data: bytes) -> int:
    library = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
    library.XXH3_64bits.restype, library.XXH3_64bits.argtypes = ctypes.c_uint64, (ctypes.c_char_p, ctypes.c_size_t)
    return library.XXH3_64bits(data, len(data))


def _sections(data: bytes) -> list[tuple[int, str, bytes, int]]:
    """(place of its entry, name, stored bytes, flags) of each."""
    found = []
    for k in range(struct.unpack_from("<I", data, 12)[0]):
        entry = _HEADER + k * _ENTRY
        name = data[entry:entry + 16].rstrip(b"\0").decode()
        start, size = struct.unpack_from("<QQ", data, entry + 16)
        found.append((entry, name, data[start:start + size], struct.unpack_from("<I", data, entry + 40)[0]))
    return found


def sections_of(path) -> dict[str, bytes]:
    """What each section holds, inflated."""
    return {name: zlib.decompress(stored) if flags & _DEFLATED else stored
            for _, name, stored, flags in _sections(path.read_bytes())}


def metadata_of(path) -> dict:
    stored, flags = next((s, f) for _, name, s, f in _sections(path.read_bytes()) if name == "metadata")
    return json.loads(zlib.decompress(stored) if flags & _DEFLATED else stored)


def with_sections(path, change, to) -> None:
    """The package with `change(name, bytes)` for each section; those that it changes are not deflated any more."""
    data = path.read_bytes()
    sections = _sections(data)
    out = bytearray(data[:_HEADER + len(sections) * _ENTRY])
    for entry, name, stored, flags in sections:
        inflated = zlib.decompress(stored) if flags & _DEFLATED else stored
        changed = change(name, inflated)
        if changed != inflated:
            stored, flags = changed, flags & ~_DEFLATED
            struct.pack_into("<Q", out, entry + 48, 0)
        out += bytes(-len(out) % 64)
        struct.pack_into("<QQQI", out, entry + 16, len(out), len(stored), checksum(stored), flags)
        out += stored
    struct.pack_into("<Q", out, 16, len(out))
    struct.pack_into("<Q", out, 24, 0)
    head = _HEADER + len(sections) * _ENTRY
    struct.pack_into("<Q", out, 24, checksum(bytes(out[:head])))
    to.write_bytes(out)


def with_metadata(path, text: bytes, to) -> None:
    with_sections(path, lambda name, held: text if name == "metadata" else held, to)


def interface_of(path) -> dict:
    return json.loads(metadata_of(path)["metadata"]["python"])


def with_interface(path, interface, to) -> None:
    """`interface`: the data that calls from Python use, or its text."""
    whole = metadata_of(path)
    whole["metadata"]["python"] = interface if isinstance(interface, str) else json.dumps(interface)
    with_metadata(path, json.dumps(whole).encode(), to)
