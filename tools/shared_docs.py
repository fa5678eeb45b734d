"""Keep the texts of shared parameters equal in the docstrings of all public estimators.

    python tools/shared_docs.py --check
    python tools/shared_docs.py --fix

`--check` lists each text that differs from its reference. `--fix` replaces it by the reference.
The reference is the first estimator that documents the name, in the order of `rank`.
`DeltaUQClassifier` has the whole text of its reference, a baseline has the first sentence. A type
line may differ in its default.
"""

from __future__ import annotations

import argparse
import ast
import re
import textwrap
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "sk_deltauq"

# Files with public estimators.
FILES = ("_deltauq_*.py", "baselines/_*.py")

# Names whose text depends on the method: the regressor is the reference for its classifier.
DIFFERENT_BY_METHOD = {"anchors_", "loss_curve_", "module", "n_components_", "n_members"}

# Names whose text depends on the kind: one reference for regressors, one for classifiers.
DIFFERENT_BY_KIND = {"early_stopping", "max_iter", "n_iter_", "validation_scores_"}

# Names whose text has no reference: the neighbours of the classifier have labels, and PBP counts
# passes instead of epochs and has one output.
INDEPENDENT = {
    "DeltaUQClassifier": {"anchor_pool", "anchors"},
    "PBPRegressor": {
        *("early_stopping", "hidden_layer_sizes", "max_iter", "n_iter_no_change"),
        *("validation_fraction", "best_validation_score_", "n_iter_", "n_outputs_"),
        *("noise_std_", "validation_scores_"),
    },
}

ESTIMATOR = re.compile(r"[A-Z]\w*(?:Regressor|Classifier)")
KIND = re.compile(r"(?=Regressor$|Classifier$)")
ENTRY = re.compile(r"^    ([a-z]\w*) : (.*)\n((?: {8}.*\n)+)", re.MULTILINE)
WORK = re.compile(r"^    \.\. \[(\d)\] (.+)", re.MULTILINE)
DEFAULT = re.compile(r"default=.*")
SENTENCE_END = re.compile(r"(?<=\.)\s+(?=[A-Z0-9`\"])")


def rank(name: str) -> tuple:
    """Order of the references: Delta-UQ before the baselines, regressors before classifiers."""
    method, kind = KIND.split(name)
    return method != "DeltaUQ", kind != "Regressor", method


def find_docstrings(source: str) -> dict[str, str]:
    """Source text of the docstring of each public estimator of a file."""
    lines = source.splitlines(keepends=True)
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    docstrings = {
        node.name: "".join(lines[node.body[0].lineno - 1 : node.body[0].end_lineno])
        for node in classes
        if ESTIMATOR.fullmatch(node.name) and ast.get_docstring(node)
    }
    return {name: text for name, text in docstrings.items() if ENTRY.search(text)}


def read_entries(docstring: str) -> dict[str, tuple[str, str]]:
    """Type line and text of each parameter and attribute."""
    return {name: (type_line, text) for name, type_line, text in ENTRY.findall(docstring)}


def find_reference(estimator: str, name: str, docstrings: dict[str, str]) -> str:
    """Name of the estimator that has the reference text of a parameter or attribute."""
    method, kind = KIND.split(estimator)
    pattern = r"\w+"
    if name in INDEPENDENT.get(estimator, ()):
        pattern = estimator
    elif name in DIFFERENT_BY_METHOD:
        pattern = rf"{method}\w+"
    elif name in DIFFERENT_BY_KIND:
        pattern = rf"\w+{kind}"
    candidates = [other for other in docstrings if re.fullmatch(pattern, other)]
    return min((c for c in candidates if name in read_entries(docstrings[c])), key=rank)


def renumber_citations(text: str, source: str, target: str) -> str:
    """Replace the citation numbers of one docstring by the numbers in another docstring."""
    works = dict(WORK.findall(source))
    numbers = {work: number for number, work in WORK.findall(target)}
    missing = [works[n] for n in re.findall(r"\[(\d)\]_", text) if works[n] not in numbers]
    if missing:
        raise ValueError(f"References must list a cited work. Add to the docstring: {missing[0]}")
    return re.sub(r"\[(\d)\]_", lambda found: f"[{numbers[works[found[1]]]}]_", text)


def shorten_text(text: str) -> str:
    """First sentence of a text, wrapped like the sources."""
    sentence = SENTENCE_END.split(text.strip(), maxsplit=1)[0]
    return textwrap.indent(textwrap.fill(" ".join(sentence.split()), 91), " " * 8) + "\n"


def mend_docstring(estimator: str, docstrings: dict[str, str]) -> tuple[str, list[str]]:
    """Docstring with the reference texts, and a message for each difference."""
    messages, own = [], docstrings[estimator]

    def mend_entry(found: re.Match) -> str:
        name = found[1]
        reference = find_reference(estimator, name, docstrings)
        type_line, text = read_entries(docstrings[reference])[name]
        if default := DEFAULT.search(found[2]):
            type_line = DEFAULT.sub(lambda _: default[0], type_line)
        if reference != estimator and not estimator.startswith("DeltaUQ"):
            text = shorten_text(text)
        text = renumber_citations(text, docstrings[reference], own)
        mended = f"    {name} : {type_line}\n{text}"
        if mended != found[0]:
            messages.append(f"{estimator}: {name} differs from {reference}")
        return mended

    return ENTRY.sub(mend_entry, own), messages


def main(arguments: list[str] | None = None) -> int:
    """Check or mend all estimators of the package; 1 if a check found differences."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--check", action="store_true", help="list the differences")
    action.add_argument("--fix", action="store_true", help="rewrite the files")
    parser.add_argument("--package", type=Path, default=PACKAGE, help="folder of the sources")
    options = parser.parse_args(arguments)

    paths = sorted(path for glob in FILES for path in options.package.glob(glob))
    sources = {path: path.read_text("utf-8") for path in paths}
    found = {path: find_docstrings(source) for path, source in sources.items()}
    docstrings = {name: text for texts in found.values() for name, text in texts.items()}
    messages = []
    for path, texts in found.items():
        for name, text in texts.items():
            mended, differences = mend_docstring(name, docstrings)
            messages += differences
            sources[path] = sources[path].replace(text, mended)
    if options.fix:
        for path in filter(found.get, sources):
            path.write_text(sources[path], encoding="utf-8")
    print(*messages, sep="\n", end="\n" if messages else "")
    return 1 if options.check and messages else 0


if __name__ == "__main__":
    raise SystemExit(main())
