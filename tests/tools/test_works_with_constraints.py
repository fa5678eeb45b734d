"""The tool that joins the two files of constraints for `make works-with`."""

import re
import tomllib

from tools.works_with_constraints import ROOT, constraints, read_pins


def test_the_second_file_adds_and_replaces_versions():
    found = dict(line.split("==") for line in constraints())
    first, second = (
        read_pins(ROOT / name) for name in ("constraints.txt", "constraints-works-with.txt")
    )
    assert found.keys() == first.keys() | second.keys()
    for name, version in found.items():
        assert version == second.get(name, first.get(name))


def test_every_package_of_the_extra_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extra = project["optional-dependencies"]["works-with"]
    names = {re.match(r"[\w-]+", entry)[0] for entry in extra} - {"sk-deltauq"}
    assert names <= {line.partition("==")[0] for line in constraints()}
