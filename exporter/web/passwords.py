"""Passwords: checked against bcrypt hashes one at a time, and the outcome remembered."""

import asyncio
import base64
import binascii
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final, NamedTuple, Self

import bcrypt
from pydantic import SecretStr

MAX_REFUSED: Final = 1024
MAX_WAITING: Final = 16
_BCRYPT_BYTES: Final = 72  # more of a password bcrypt has never looked at

Users = Mapping[str, SecretStr]


class TooManyChecksError(Exception):
    """More passwords wait to be checked than can be within a bearable time."""


class Login(NamedTuple):
    """What a client gives itself out for."""

    user: str
    password: bytes

    @classmethod
    def read(cls, header: str | None) -> Self | None:
        """Read an Authorization header; None where it is not there, or of no basic kind."""
        scheme, _, encoded = (header or "").strip().partition(" ")
        if scheme.lower() != "basic":
            return None
        try:
            user, colon, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
            return cls(user.decode(), password) if colon else None
        except (binascii.Error, ValueError):
            return None


class Passwords:
    """Tell good logins from others.

    A bcrypt check takes about 0.1 s: it runs in a thread, one at a time, and of what it found only
    a digest under a key of this process is kept. Good logins are remembered apart from refused
    ones, so that a flood of those can't drive them out.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._good: dict[str, bytes] = {}
        self._refused: OrderedDict[bytes, None] = OrderedDict()
        self._one_at_a_time = asyncio.Lock()
        self._waiting = 0

    async def good(self, login: Login, users: Users) -> bool:
        """Return whether the password is that of the user.

        An unknown user takes as long: the password is checked against somebody else's hash.
        Raises TooManyChecksError where it would have to wait for too many others.
        """
        known_user = login.user in users
        checked_hash = self._hash_for(login.user, users)
        whether = b"known" if known_user else b"unknown"
        digest = self._digest(whether, login.user.encode(), checked_hash, login.password)
        found = self._remembered(login.user, digest)
        if found is None:
            found = await self._queue(login, checked_hash, digest, known_user=known_user)
        return found

    def _remembered(self, user: str, digest: bytes) -> bool | None:
        if self._good.get(user) == digest:
            return True
        if digest in self._refused:
            self._refused.move_to_end(digest)
            return False
        return None

    async def _queue(
        self, login: Login, checked_hash: bytes, digest: bytes, *, known_user: bool
    ) -> bool:
        if self._waiting >= MAX_WAITING:
            raise TooManyChecksError
        self._waiting += 1
        try:
            async with self._one_at_a_time:
                found = self._remembered(login.user, digest)  # the one before may have been equal
                if found is not None:
                    return found
                matches = await asyncio.to_thread(_matches, login.password, checked_hash)
        finally:
            self._waiting -= 1
        return self._remember(login.user, digest, good=matches and known_user)

    def _remember(self, user: str, digest: bytes, *, good: bool) -> bool:
        if good:
            self._good[user] = digest
        else:
            self._refused[digest] = None
            if len(self._refused) > MAX_REFUSED:
                self._refused.popitem(last=False)
        return good

    def _hash_for(self, user: str, users: Users) -> bytes:
        """Return the user's hash, or always the same one of the others' for an unknown name."""
        if user not in users:
            names = sorted(users)
            number = int.from_bytes(self._digest(user.encode()))
            user = names[number % len(names)]
        return users[user].get_secret_value().encode()

    def _digest(self, *parts: bytes) -> bytes:
        return blake2b(b"\0".join(parts), key=self._key, digest_size=32).digest()


def _matches(password: bytes, checked_hash: bytes) -> bool:
    return bcrypt.checkpw(password[:_BCRYPT_BYTES], checked_hash)
