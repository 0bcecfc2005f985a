"""Compressed pieces that can be put one behind the other in a single gzip stream.

A piece is raw deflate that ends in a full flush: on a byte's boundary, and with nothing
that follows referring back to it. So pieces that were compressed once, each when its text
changed, are joined without looking into them; their CRC-32s are combined as zlib's
crc32_combine does. Several gzip members, the simpler way, are no choice: of those some
readers take only the first.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

try:
    # Intel's library compresses such text several times as fast as zlib does.
    from isal import isal_zlib as zlib
except ImportError:  # it is not there for every machine
    import zlib  # type: ignore[no-redef]  # with the same functions

_POLYNOMIAL = 0xEDB88320
_LEVEL = 1
_SMALL_BYTES = 1024 * 1024
"""What is smaller is copied sooner than sent on its own."""
# Magic, deflate, no flags, no time, fastest compression, unknown system.
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"
_LAST_BLOCK = b"\x03\x00"


@dataclass(frozen=True, slots=True)
class Packed:
    """A compressed piece, with the CRC-32, the size and the number of lines of its text.

    `shift` is what combining needs of the size: x^(8 * size) modulo the CRC's polynomial.
    """

    data: bytes
    crc: int
    size: int
    lines: int
    shift: int


class Packer:
    """Compress pieces one after the other with one compressor, whose set-up is the dear part."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)

    def pack(self, text: bytes) -> Packed:
        """Compress a piece."""
        data = self._compressor.compress(text) + self._compressor.flush(zlib.Z_FULL_FLUSH)
        return Packed(data, zlib.crc32(text), len(text), text.count(b"\n"), _shift(len(text)))


def join(pieces: Iterable[Packed]) -> Packed:
    """Return the pieces as one."""
    parts: list[bytes] = []
    crc = size = lines = 0
    for piece in pieces:
        if piece.size:
            parts.append(piece.data)
            crc = _multiply(piece.shift, crc) ^ piece.crc
            size += piece.size
            lines += piece.lines
    return Packed(b"".join(parts), crc, size, lines, _shift(size))


def condense(pieces: Iterable[Packed], small: int = _SMALL_BYTES) -> list[Packed]:
    """Return the pieces as fewer ones: small neighbours are joined, no large one is copied."""
    groups = groupby(pieces, lambda piece: len(piece.data) < small)
    return [each for joined, group in groups for each in ([join(group)] if joined else group)]


def gzip(pieces: Iterable[Packed]) -> list[bytes]:
    """Return the parts of the gzip stream of all pieces; nothing of them is copied."""
    parts = [_HEADER]
    crc = size = 0
    for piece in pieces:
        if piece.size:
            parts.append(piece.data)
            crc = _multiply(piece.shift, crc) ^ piece.crc
            size += piece.size
    end = crc.to_bytes(4, "little") + (size & 0xFFFFFFFF).to_bytes(4, "little")
    return [*parts, _LAST_BLOCK + end]


# Polynomials over GF(2) modulo the CRC's, as zlib holds them: the highest bit is x^0.
_ONE = 1 << 31


def _multiply(a: int, b: int) -> int:
    product = 0
    while a:
        if a & _ONE:
            product ^= b
        a = (a << 1) & 0xFFFFFFFF
        b = (b >> 1) ^ _POLYNOMIAL if b & 1 else b >> 1
    return product


def _powers() -> tuple[int, ...]:
    """Return x^(2^n) for every n that a size can need."""
    powers = [_ONE >> 1]
    for _ in range(66):
        powers.append(_multiply(powers[-1], powers[-1]))
    return tuple(powers)


_POWERS = _powers()


@lru_cache(maxsize=1 << 14)
def _shift(size: int) -> int:
    """Return x^(8 * size)."""
    shift, place = _ONE, 3
    while size:
        if size & 1:
            shift = _multiply(_POWERS[place], shift)
        size, place = size >> 1, place + 1
    return shift
