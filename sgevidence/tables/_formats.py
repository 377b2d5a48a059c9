"""Cells and sentences in Markdown, LaTeX and HTML: powers of ten, signs, and characters to escape."""

import re
from html import escape

#: Characters that LaTeX reads as commands, or has no letter for.
IN_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": "$-$",
    "–": "--",
    "²": "$^2$",
    "₀": "$_0$",
    "\N{GREEK SMALL LETTER SIGMA}": r"$\sigma$",
    "τ": r"$\tau$",
    "ν": r"$\nu$",
    "μ": r"$\mu$",
    "φ": r"$\phi$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "η": r"$\eta$",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}
#: Characters that Markdown reads as marks.
IN_MARKDOWN = re.compile(r"([\\|*_`<\[\]])")
#: A number with an exponent.
POWER = re.compile(r"\b(\d+(?:\.\d+)?)e([-+]?)0*(\d+)\b")


def in_latex(text: str) -> str:
    """Text for a document in LaTeX."""
    escaped = "".join(IN_LATEX.get(sign, sign) for sign in text)
    return POWER.sub(lambda found: "$" + _factor(found, r" \times ") + f"10^{{{_power(found)}}}$", escaped)


def in_markdown(text: str) -> str:
    """Text for a document in Markdown."""
    escaped = IN_MARKDOWN.sub(r"\\\1", text)
    superscripts = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
    return POWER.sub(
        lambda found: f"{_factor(found, ' × ')}10{_power(found).translate(superscripts)}", escaped
    )


def in_html(text: str) -> str:
    """Text for a page."""
    return POWER.sub(
        lambda found: f"{_factor(found, ' × ')}10<sup>{_power(found).replace('-', '−')}</sup>", escape(text)
    )


def _factor(found: re.Match[str], times: str) -> str:
    return "" if found[1] == "1" else f"{found[1]}{times}"


def _power(found: re.Match[str]) -> str:
    return f"{found[2].replace('+', '')}{found[3]}"
