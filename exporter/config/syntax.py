"""What is wrong with a text that is no YAML, in plain words; nothing of the text is shown."""

import re
from collections.abc import Mapping
from typing import Final

import yaml

_QUOTE: Final = "quote a value that begins with"

# What PyYAML says (in what context, which problem), and what that means to the author of a file.
# The first that matches counts; of these the place to look at is where the construct began,
_BEGUN: Final[Mapping[str, str]] = {
    r"flow sequence, .* got '<stream end>'": f"a [ that no ] ends; {_QUOTE} [",
    r"flow mapping, .* got '<stream end>'": f"a {{ that no }} ends; {_QUOTE} {{",
    r"quoted scalar, found unexpected": "a quotation mark that no other one ends",
    r"could not find expected ':'": "a key without its colon, and a space or a new line behind it",
}
# and of these where PyYAML could not go on.
_HERE: Final[Mapping[str, str]] = {
    r"found another document": "a second document (---); only one is read",
    r"directive|%TAG": f"directives are not supported; {_QUOTE} %",
    r"<document start>": f"more text behind the end of the document; {_QUOTE} one of % [ {{ &",
    r"found '<stream end>'": "the file ends where a value should stand; is a [ or { not closed?",
    r"flow sequence, expected": "before this a comma is missing, or the ] that ends the list",
    r"flow mapping, expected": "before this a comma is missing, or the } that ends the mapping",
    r"found character '\\t'": "a tab; indent with spaces",
    r"cannot start any token": f"no value begins like this; {_QUOTE} one of @ ` %",
    r"the node content": f"no value begins like this; {_QUOTE} one of ] }} , : ? -",
    r"(?:entries|keys) are not allowed": f"{_QUOTE} - or ?, or put a list on lines of its own",
    r"mapping values are not allowed": (
        "a colon where none can stand; is one missing before, or the indentation uneven?"
        " quote a value with a colon and a space in it"
    ),
    r"double-quoted scalar": "an unknown escape; between single quotes a backslash is just itself",
    r"block scalar, expected": f"text behind | or >; {_QUOTE} one of them",
    r"<block end>, but found '<scalar>'": "text behind the end of a value; quote the whole value",
    r"<block end>": (
        "this does not continue what stands before it; indent the keys of one mapping, and the"
        " items of one list, alike"
    ),
    r"undefined alias|an alias": f"an alias without its anchor; {_QUOTE} *",
    r"anchor": f"an anchor that is none, or stands twice; {_QUOTE} &",
    r"a tag": f"tags are not supported; {_QUOTE} !",
}
# What PyYAML quotes of the text may be part of a secret; characters and token names are not.
_QUOTATION: Final = re.compile(r"'(?![<\\])[^']{2,}'")


def explain(error: yaml.MarkedYAMLError) -> tuple[yaml.Mark | None, str]:
    """Return where a person should look, and what is wrong there."""
    said = ", ".join(part for part in (error.context, error.problem) if part)
    if error.context_mark and (words := _words(said, _BEGUN)):
        return error.context_mark, words
    return error.problem_mark, _words(said, _HERE) or _QUOTATION.sub("(not shown)", said)


def _words(said: str, meanings: Mapping[str, str]) -> str:
    return next((words for pattern, words in meanings.items() if re.search(pattern, said)), "")
