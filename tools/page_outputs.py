"""Run the examples of pages and write their present output into the pages.

Usage: python tools/page_outputs.py PAGE...

The tests accept numbers that are close, because processors round differently. Run this after a
change of training or calibration, read the differences, and check that the text still agrees.
"""

import contextlib
import doctest
import io
import sys
import traceback
import warnings
from pathlib import Path

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_example(example: doctest.Example, names: dict) -> str:
    """Run one example and return its output, or the last line of its error."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(example.source, "<page>", "single"), names)
        except Exception as error:  # a page may show any error
            if example.exc_msg is None:
                raise
            print(traceback.format_exception_only(error)[-1], end="")
    return printed.getvalue()


def update(text: str) -> str:
    """Return the text of a page with the present output of its examples."""
    lines, checker, names = text.splitlines(keepends=True), doctest.OutputChecker(), {}
    changes = []
    for example in doctest.DocTestParser().get_examples(text):
        got = run_example(example, names)
        want = example.exc_msg or example.want
        if example.exc_msg is None and not checker.check_output(want, got, FLAGS):
            start = example.lineno + example.source.count("\n")
            indent = " " * example.indent
            output = [f"{indent}{line}".rstrip() + "\n" for line in got.splitlines()]
            changes.append((start, start + want.count("\n"), output))
    for start, end, output in reversed(changes):
        lines[start:end] = output
    return "".join(lines)


def main(paths: list[str]) -> None:
    """Update pages, and name those that changed."""
    warnings.simplefilter("ignore")
    for path in map(Path, paths):
        before = path.read_text(encoding="utf-8")
        after = update(before)
        if after != before:
            path.write_text(after, encoding="utf-8")
            print(f"{path}: updated")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main(sys.argv[1:])
