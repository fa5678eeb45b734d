"""The README says what is so: its example runs, and what it links to is there."""

import contextlib
import doctest
import io
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NUMBER = r"-?\d+\.?\d*(?:e[+-]?\d+)?"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class NumbersNearby(doctest.OutputChecker):
    """The same words and spaces aside, the same numbers to 2 %: another CPU rounds otherwise."""

    def check_output(self, want, got, optionflags):
        # Spaces go, and a number may start or end in one, so compare what is between the numbers.
        same_text = [re.sub(NUMBER, "#", text).split() for text in (want, got)]
        numbers = [np.array(re.findall(NUMBER, text), dtype=float) for text in (want, got)]
        return (
            "".join(same_text[0]) == "".join(same_text[1])
            and numbers[0].shape == numbers[1].shape
            and np.allclose(*numbers, rtol=0.02)
        )


def examples():
    """Pairs (Python code, its printed output or None)."""
    blocks = list(FENCE.finditer(README))
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block[1] == "python":
            adjacent = following and not README[block.end() : following.start()].strip()
            output = following[2] if adjacent and following[1] in ("", "text") else None
            yield block[2], output


@pytest.mark.parametrize(("code", "output"), list(examples()))
def test_readme_example_prints_what_it_says(code, output):
    checker = NumbersNearby()
    if ">>> " in code:
        example = doctest.DocTestParser().get_doctest(code, {}, "README", "README.md", 0)
        report = io.StringIO()
        doctest.DocTestRunner(checker).run(example, out=report.write)
        assert not report.getvalue(), report.getvalue()
        return
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert output is not None, "show what the example prints, in a block right after it"
    assert checker.check_output(output, printed.getvalue(), 0), printed.getvalue()


def test_readme_has_an_example():
    assert list(examples())


def test_readme_links_to_files_that_exist():
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)|src=\"([^\"]+)\"", README)
    local = [a or b for a, b in targets if "://" not in (a or b)]
    assert [target for target in local if not (ROOT / target).exists()] == []
