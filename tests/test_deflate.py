"""Compressed pieces: joined in any way, they are one gzip stream of the joined text."""

import gzip
import importlib.util
import random
import sys
import zlib
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter import deflate

texts = st.binary(max_size=200) | st.binary(max_size=20).map(lambda part: part * 50 + b"\n")
pages = st.lists(st.lists(texts, max_size=5), max_size=4)


def without_isal() -> ModuleType:
    """Return the module as it is on a machine for which there is no faster library."""
    spec = importlib.util.spec_from_file_location("plain_deflate", deflate.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "isal", None)
        patch.setitem(sys.modules, spec.name, module)  # where dataclasses look
        spec.loader.exec_module(module)
    return module


EITHER = pytest.mark.parametrize("module", [deflate, without_isal()], ids=["isal", "zlib"])


def test_the_faster_library_is_there() -> None:
    """Where these tests run both are tried."""
    assert deflate.zlib.__name__ == "isal.isal_zlib"  # type: ignore[attr-defined]  # not exported


@EITHER
@settings(max_examples=60)
@given(page=pages)
def test_pieces_of_pieces_are_one_stream(module: ModuleType, page: list[list[bytes]]) -> None:
    """Whole, and byte by byte, to readers that stop at the first stream's end."""
    packer = module.Packer()
    joined = [module.join([packer.pack(text) for text in part]) for part in page]
    stream = b"".join(module.gzip(joined))
    text = b"".join(b"".join(part) for part in page)
    assert gzip.decompress(stream) == text
    reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
    assert b"".join(reader.decompress(bytes([byte])) for byte in stream) == text
    assert reader.eof
    assert not reader.unused_data


@EITHER
@given(parts=st.lists(texts, max_size=6))
def test_a_joined_piece_says_what_its_text_is(module: ModuleType, parts: list[bytes]) -> None:
    """Its size, its number of lines and its CRC-32, as if it had been packed at once."""
    joined, text = module.join(map(module.Packer().pack, parts)), b"".join(parts)
    assert (joined.crc, joined.size) == (zlib.crc32(text), len(text))
    assert joined.lines == text.count(b"\n")


@EITHER
def test_pieces_do_not_depend_on_the_order_in_which_they_were_packed(module: ModuleType) -> None:
    """Of two packed one after the other each can be read alone, and in the other order."""
    packer = module.Packer()
    first, second = (packer.pack(text * 100) for text in (b"the same\n", b"the same\n"))
    for order in ([first], [second], [second, first]):
        assert gzip.decompress(b"".join(module.gzip(order))) == b"the same\n" * 100 * len(order)


@EITHER
@given(
    sizes=st.lists(st.sampled_from([0, 1, 400, 2_000, 3_000]), max_size=8),
    seed=st.integers(),
)
def test_small_neighbours_are_joined_and_large_pieces_left_alone(
    module: ModuleType, sizes: list[int], seed: int
) -> None:
    """The stream is of the same text, in fewer parts, and no large one was copied."""
    rng, packer = random.Random(seed), module.Packer()  # noqa: S311 - nothing to hide
    pieces = [packer.pack(rng.randbytes(size)) for size in sizes]
    condensed = module.condense(pieces, small=1_000)
    known = gzip.decompress(b"".join(module.gzip(pieces)))
    assert gzip.decompress(b"".join(module.gzip(condensed))) == known
    large = [piece for piece in pieces if len(piece.data) >= 1_000]
    assert [piece for piece in condensed if any(piece is each for each in large)] == large
    assert len(condensed) <= 2 * len(large) + 1
    assert sum(piece.lines for piece in condensed) == sum(piece.lines for piece in pieces)
