"""What the error answers of Samsung Cloud Platform say.

The service answers `{"errors": [{"code", "title", "detail", "response": …}]}`, the
gateway before it a flat object, a load balancer plain text, and some 404 are HTML.
"""

from typing import Any

from exporter.clouds.errors import document, one_line, plain
from exporter.clouds.http import Refusal

_UNAUTHORIZED = 401


def refusal(status: int, body: bytes) -> Refusal:
    """Read an error answer, whatever it is made of."""
    answer = document(body)
    if not isinstance(answer, dict):
        return Refusal(plain(body))
    errors = answer.get("errors")
    if isinstance(errors, list) and errors and isinstance(errors[0], dict):
        return Refusal(_of_service(errors[0]), of_service=True)
    message = one_line(answer.get("name") or answer.get("error"), answer.get("message"))
    # The gateway answers 401 also where the account has not subscribed to the service; it
    # then says that the product catalog has no entry for it.
    not_entitled = status == _UNAUTHORIZED and "catalog" in message.lower()
    return Refusal(message or one_line(answer.get("reason"), answer.get("code")), not_entitled)


def _of_service(error: dict[str, Any]) -> str:
    detail = error.get("detail")
    text = "; ".join(map(one_line, detail)) if isinstance(detail, list) else detail
    response = error.get("response")
    action = response.get("action_name") if isinstance(response, dict) else None
    missing = f"missing permission {action}" if action else None
    return one_line(error.get("code"), error.get("title"), text, missing)
