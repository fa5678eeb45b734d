"""Docstrings, comments, messages and pages avoid phrases that readers have to read twice.

`python -m tests.test_language` lists the hits in all sources and pages.
"""

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SOURCES = ("sk_deltauq/**/*.py", "benchmarks_uci/**/*.py", "tools/*.py", "docs/*.py")
PAGES = ("*.md", "docs/**/*.rst", "docs/**/*.md", "benchmarks_uci/**/*.md")

# Files that the test checks; the others are being rewritten.
PATHS = (
    "sk_deltauq/_deltauq_*.py",
    "sk_deltauq/baselines/_pbp*.py",
    "sk_deltauq/distributions/*.py",
    "sk_deltauq/metrics/*.py",
    "tools/*.py",
)

# Each phrase, and what to write instead.
BANNED = {
    r"(that|those) (of|in|on|which|by which)": "repeat the noun",
    r"the ones? (by|of|to|for|in) which": "name the noun",
    r"what it (is|was)|what they (are|were)": "name the noun",
    r"whatever": "any, regardless of",
    r"(has|have|had) not got": "has no",
    r"one an? \w+": "one per ..., one for each ...",
    r"(rows|weights?|values?|factors?|draws|microseconds|seconds|minutes|splits?|mixtures?|folds?)"
    r" an? (row|feature|member|fold|epoch|call|column|split|set|layer|output|step|unit)": "per",
    r"all but|nothing but|none but|but for": "except, only",
    r"(?<=\w), not an?": "a positive statement",
    r"off the (data|training)|away from the (data|training)": "out of distribution",
    r"waves?": "sinusoidal features",
    r"the bands?": "predictive interval, standard deviation",
    r"dealt|deals? (the|out|into)|dealing": "assign, split",
    r"(nine|three|two) tenths|a tenth": "90 %",
    r"rivals?": "external methods",
    r"as (it|they) (comes?|came)": "unchanged, by default",
    r"in hand|for so|so many": "say it literally",
    r"as good as (absent|gone|none)": "ignored",
    r"(is|are|was|were) told": "say it literally",
}

PATTERNS = {
    re.compile(rf"(?:\b|(?=,))(?:{form})\b".replace(" ", r"\s+"), re.IGNORECASE): advice
    for form, advice in BANNED.items()
}


def read_prose(path):
    """Text of a file; in sources, all code except comments and string literals is masked."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return text
    source = text.split("\n")
    lines = [list(re.sub(r"\S", "·", line)) for line in source]
    kept = {
        tokenize.COMMENT,
        tokenize.STRING,
        getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING),
    }
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in kept:
            continue
        (first, start), (last, end) = token.start, token.end
        for row in range(first, last + 1):
            columns = slice(start if row == first else 0, end if row == last else None)
            lines[row - 1][columns] = source[row - 1][columns]
    # Quotes and hash signs must not separate the words of a phrase that continues on a new line.
    prose = "\n".join("".join(line) for line in lines)
    return re.sub(r"(?m)^(\s*)#|[\"']\s*$|^(\s*)[frb]*[\"']", lambda m: " " * len(m[0]), prose)


def find_hits(path):
    """Each banned phrase of a file: its line, the phrase, and the advice."""
    prose = read_prose(path)
    hits = [
        (prose.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), advice)
        for pattern, advice in PATTERNS.items()
        for match in pattern.finditer(prose)
    ]
    return sorted(hits)


def find_files(globs):
    return sorted({path for glob in globs for path in ROOT.glob(glob)} - {ROOT / "CHANGELOG.md"})


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", find_files(PATHS), ids=name_of)
def test_no_banned_phrase(path):
    assert find_hits(path) == []


if __name__ == "__main__":
    for path in find_files((*SOURCES, *PAGES)):
        for line, phrase, advice in find_hits(path):
            print(f"{name_of(path)}:{line}: {phrase!r}: {advice}")
