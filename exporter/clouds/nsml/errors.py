"""What the error answers of CLOVA NSML say.

They come as `{"error": {"errorCode", "message", "details"}}` or flat, the code as a text
or a number; from the gateway also as XML or plain text.
"""

import re

from exporter.clouds.errors import document, one_line, plain
from exporter.clouds.http import Refusal

_UNAUTHORIZED = 401
_NO_SUBSCRIPTION = "210"
_XML_CODE = re.compile(rb"<errorCode>\s*(\d+)\s*</errorCode>")


def refusal(status: int, body: bytes) -> Refusal:
    """Read an error answer, whatever it is made of."""
    answer = document(body)
    if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
        answer = answer["error"]
    if isinstance(answer, dict):
        code = one_line(answer.get("errorCode"))
        said = answer.get("message") or answer.get("error")
        message = one_line(code, said, answer.get("details"))
        if code:
            not_entitled = status == _UNAUTHORIZED and code == _NO_SUBSCRIPTION
            return Refusal(message, not_entitled, of_service=True)
    else:
        found = _XML_CODE.search(body)
        code = found[1].decode() if found else ""
        message = plain(body)
    return Refusal(message, status == _UNAUTHORIZED and code == _NO_SUBSCRIPTION)
