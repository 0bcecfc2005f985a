"""The made-up credentials of both clouds."""

import random
from dataclasses import dataclass
from typing import Literal

Cloud = Literal["scp", "nsml"]


@dataclass(frozen=True, slots=True, repr=False)
class Pair:
    """An access key with its secret key."""

    access: str
    secret: str


class Keys:
    """What the two clouds accept at the moment."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.scp = self._scp()
        self.nsml = self._nsml()
        self.api_key = self._text(40)

    def rotate(self, cloud: Cloud) -> None:
        """Replace the keys of one cloud; the old ones are refused from now on."""
        if cloud == "scp":
            self.scp = self._scp()
        else:
            self.nsml = self._nsml()
            self.api_key = self._text(40)

    def named(self) -> dict[str, str]:
        """Return the credentials by the names of their environment variables."""
        return {
            "SCP_ACCESS_KEY": self.scp.access,
            "SCP_SECRET_KEY": self.scp.secret,
            "NCP_ACCESS_KEY": self.nsml.access,
            "NCP_SECRET_KEY": self.nsml.secret,
            "NCP_API_KEY": self.api_key,
        }

    def _scp(self) -> Pair:
        return Pair("SIM" + self._text(29), "SIM" + self._text(37))

    def _nsml(self) -> Pair:
        return Pair("ncp_iam_BPASIM" + self._text(14), "ncp_iam_BPKSIM" + self._text(26))

    def _text(self, length: int) -> str:
        return "".join(self._rng.choices("abcdefghjkmnpqrstuvwxyz23456789", k=length))
