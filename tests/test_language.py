"""Docstrings, comments, messages, pages and names of tests avoid phrases that are hard to read.

`python -m tests.test_language` lists the hits in all sources and pages.
"""

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SOURCES = (
    "sk_deltauq/**/*.py",
    "benchmarks_uci/**/*.py",
    "tools/*.py",
    "docs/*.py",
    "docs/examples/*.py",
    "tests/**/*.py",
)
PAGES = ("README.md", "CONTRIBUTING.md", "docs/**/*.rst")

# Files that the test checks.
PATHS = (*SOURCES, *PAGES)

# Phrases (without regard to case or line breaks), and what to write instead.
BANNED = {
    r"(that|those) of": "repeat the noun",
    r"(that|those|the ones?) (by|for|in|of|to) which": "name the noun",
    r"what (it|they) (is|are|was|were)": "name the noun",
    r"whatever": "any, regardless of",
    r"(has|have|had) not got": "has no",
    r"one an? (?!few|time)\w+": "one per, one for each",
    r"(rows|weights?|values?|factors?|draws|seconds|microseconds|minutes|splits?|mixtures?)"
    r" an? (row|feature|member|fold|epoch|call|column|split|set|layer|output|step)": "per",
    r"all but|none but|nothing but|but for": "except, only",
    r"(off|away from) the (data|training)": "out of distribution",
    r"waves?": "sinusoidal features",
    r"the bands?": "predictive interval, standard deviation",
    r"dealt|dealing|deals? (the|out|into)": "assign, split",
    r"(nine|three|two) tenths": "90 %",
    r"rivals?(?!\.)": "external methods",
    r"as (it|they) (comes?|came)": "unchanged, by default",
    r"in hand|so many (times|draws)|(in|of|only) so many": "give the number",
    r"as good as (absent|gone|none)": "ignored",
    r"(is|are|was|were) told": "say it literally",
}

PATTERNS = {
    re.compile(rf"\b(?:{phrase})".replace(" ", r"\s+") + r"\b", re.IGNORECASE): advice
    for phrase, advice in BANNED.items()
}

PROSE = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", None)}


def read_prose(path):
    """Text of a file. In sources, only comments and string literals are kept."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return text
    source = text.split("\n")
    # Masked code separates the phrases of different strings; line breaks do not.
    lines = [list(re.sub(r"\S", "·", line)) for line in source]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in PROSE:
            continue
        (first, start), (last, end) = token.start, token.end
        for row in range(first, last + 1):
            columns = slice(start if row == first else 0, end if row == last else None)
            lines[row - 1][columns] = source[row - 1][columns]
    prose = "\n".join("".join(line) for line in lines)
    delimiters = r"""^ *#|^ *[frb]*["']+|["']+$"""
    return re.sub(delimiters, lambda m: " " * len(m[0]), prose, flags=re.MULTILINE)


def find_hits(path):
    """List the banned phrases of a file: line, phrase, and advice."""
    prose = read_prose(path)
    return sorted(
        (prose.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), advice)
        for pattern, advice in PATTERNS.items()
        for match in pattern.finditer(prose)
    )


def find_files(globs):
    return sorted({path for glob in globs for path in ROOT.glob(glob)})


def get_name(path):
    return str(path.relative_to(ROOT))


# This file lists the phrases.
@pytest.mark.parametrize(
    "path", [path for path in find_files(PATHS) if path != Path(__file__)], ids=get_name
)
def test_no_banned_phrase(path):
    assert find_hits(path) == []


@pytest.mark.parametrize("path", find_files(["tests/**/*.py"]), ids=get_name)
def test_no_banned_phrase_in_names_of_tests(path):
    names = re.findall(r"def test_(\w+)", path.read_text(encoding="utf-8"))
    sentences = [name.replace("_", " ") for name in names]
    assert not [s for s in sentences for pattern in PATTERNS if pattern.search(s)]


SOURCE = '''
"""A docstring with the
band."""
waves = ["one", "a member"]  # Code and separate strings are ignored.
# This is what
# it is.
message = (
    "Rows are "
    f"Dealt {count}."
)
'''


def test_phrases_are_found_across_lines_in_docstrings_comments_and_messages(tmp_path):
    path = tmp_path / "source.py"
    path.write_text(SOURCE, encoding="utf-8")
    hits = [(line, phrase) for line, phrase, _ in find_hits(path)]
    assert hits == [(2, "the band"), (5, "what it is"), (9, "Dealt")]


@pytest.mark.parametrize("glob", PATHS)
def test_every_glob_finds_files(glob):
    assert find_files([glob])


if __name__ == "__main__":
    for path in find_files((*SOURCES, *PAGES)):
        for line, phrase, advice in find_hits(path):
            print(f"{get_name(path)}:{line}: {phrase!r}: {advice}")
