"""What the error answers of CLOVA NSML say.

They come as `{"error": {"errorCode", "message", "details"}}` or flat, the code as a text
or a number; from the gateway also as XML or plain text.
"""

from exporter.clouds.errors import document, one_line, plain
from exporter.clouds.http import Refusal

_UNAUTHORIZED = 401
_NO_SUBSCRIPTION = "210"


def refusal(status: int, body: bytes) -> Refusal:
    """Read an error answer, whatever it is made of."""
    answer = document(body)
    if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
        answer = answer["error"]
    if not isinstance(answer, dict):
        return Refusal(plain(body))
    code = str(answer.get("errorCode", ""))
    message = one_line(code, answer.get("message"), answer.get("details"))
    return Refusal(message, status == _UNAUTHORIZED and code == _NO_SUBSCRIPTION)
