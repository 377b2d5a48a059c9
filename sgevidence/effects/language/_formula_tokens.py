"""Tokens of a formula with their places in the text, and what ``formulae`` cannot read written out.

    x^2          x**2                    %in%         :, of which it is another spelling
    (… || g)     one operator |, whose lexeme is ||, so that one part says that its effects are independent
    .            the sum of all columns of a frame but the response, those of groups and of offset()

Symbols: ``place`` = number of a character of the text, from one.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

#: Quoted text and names, in which a caret is no power, and the caret.
QUOTED_OR_CARET = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\^")
#: Characters of a formula that a message shows at most.
MAX_SHOWN_CHARACTERS = 60


class Unreadable(Exception):
    """A formula that cannot be read."""


class MadeName(str):
    """Words of a column that is made of others, as a formula writes them; ``tree`` says how."""

    tree: tuple = ()

    @classmethod
    def of(cls, words: str, tree: tuple) -> "MadeName":
        """A name with its tree."""
        found = cls(words)
        found.tree = tree
        return found


def without_carets(text: str) -> str:
    """A formula that writes powers as Python does."""
    return QUOTED_OR_CARET.sub(lambda found: "**" if found[0] == "^" else found[0], text)


def tokens_of(text: str, names: Sequence[Any] | None) -> list[Any]:
    """Tokens with a ``place``; ``names`` are columns of a frame, None where there is none."""
    tokens = scanned(text)
    found, k = [], 0
    while k < len(tokens):
        kinds = [token.kind for token in tokens[k : k + 3]]
        token = tokens[k]
        if kinds[:2] == ["PIPE", "PIPE"] and tokens[k + 1].place == token.place + 1:
            found.append(new_token("PIPE", "||", token.place))
            k += 2
        elif kinds == ["MODULO", "IDENTIFIER", "MODULO"] and tokens[k + 1].lexeme == "in":
            found.append(new_token("COLON", ":", token.place))
            k += 3
        elif token.kind == "STRING" and not in_call(found):
            is_class = bool(found) and found[-1].kind == "LEFT_BRACKET"
            hint = "its name, in backticks if it has spaces"
            hint = "the column alone: coefficients are of the last class in classes_" if is_class else hint
            raise Unreadable(
                f"{shown(text, token.place)}: {token.lexeme} in quotes is a text and no column: write {hint}"
            )
        else:
            found.append(token)
            k += 1
    return [one for token in found for one in with_columns(text, token, found, names)]


def scanned(text: str) -> list[Any]:
    """Tokens of the scanner of formulae."""
    from formulae.scanner import Scanner

    class Placed(Scanner):  # type: ignore[misc]
        def add_token(self, kind: str, literal: Any = None) -> None:
            super().add_token(kind, literal)
            self.tokens[-1].place = self.start + 1

    scanner = Placed(text)
    try:
        tokens = scanner.scan()
    except IndexError:
        raise Unreadable(f"{shown(text, scanner.start + 1)}: a backtick has no end") from None
    except Exception as error:  # of formulae, whose errors are of many types
        is_underscore = text[scanner.start : scanner.start + 1] == "_"
        hint = ": names that begin with _ stand in backticks" * is_underscore
        if "more than one '~'" in str(error):
            hint = ": formulas of other parameters are noise= and zeros="
        raise Unreadable(f"{shown(text, scanner.start + 1)}: {error}{hint}") from error
    for token in tokens:
        token.place = getattr(token, "place", len(text))
    return tokens


def new_token(kind: str, lexeme: str, place: int, literal: Any = None) -> Any:
    from formulae.token import Token

    token = Token(kind, lexeme, literal)
    token.place = place
    return token


def in_call(tokens: list[Any]) -> bool:
    """Whether what follows is an argument of a call."""
    depth = 0
    for token, before in zip(tokens[::-1], [*tokens[-2::-1], None]):
        depth += (token.kind == "RIGHT_PAREN") - (token.kind == "LEFT_PAREN")
        if depth < 0:
            return before is not None and before.kind == "IDENTIFIER"
    return False


def with_columns(text: str, token: Any, tokens: list[Any], names: Sequence[Any] | None) -> Iterator[Any]:
    """The token, or all columns of a frame for a dot."""
    if token.kind != "PERIOD":
        yield token
    elif names is None:
        yield new_token("IDENTIFIER", MadeName.of(".", (".",)), token.place)
    else:
        elsewhere = named_apart(tokens)
        others = [str(name) for name in names if str(name) not in elsewhere]
        if not others:
            raise Unreadable(f"{shown(text, token.place)}: . stands for no column: the frame has no others")
        yield new_token("LEFT_PAREN", "(", token.place)
        for name in others:
            yield new_token("BQNAME", f"`{name}`", token.place)
            yield new_token(
                "PLUS" if name != others[-1] else "RIGHT_PAREN", "+)"[name == others[-1]], token.place
            )


def named_apart(tokens: list[Any]) -> set[str]:
    """Columns of the response, of groups and of offset()."""
    found: set[str] = set()
    depth, apart, is_left = 0, None, any(token.kind == "TILDE" for token in tokens)
    for k, token in enumerate(tokens):
        is_left = is_left and token.kind != "TILDE"
        depth += (token.kind == "LEFT_PAREN") - (token.kind == "RIGHT_PAREN")
        if apart is not None and depth < apart:
            apart = None
        if token.kind == "PIPE" or (token.kind == "LEFT_PAREN" and k and tokens[k - 1].lexeme == "offset"):
            apart = depth if apart is None else apart
        if (is_left or apart is not None) and token.kind in ("IDENTIFIER", "BQNAME"):
            found.add(token.lexeme.strip("`"))
    return found


def shown(text: str, place: int | None = None, piece: str | None = None) -> str:
    """The formula in a message, with the place of a piece of it."""
    whole = text if len(text) <= MAX_SHOWN_CHARACTERS else text[:MAX_SHOWN_CHARACTERS] + "…"
    if place is None and piece and (at := text.find(piece)) >= 0:
        place = at + 1
    return f"{whole!r}" + (f" at character {place}" if place is not None else "")
