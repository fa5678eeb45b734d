"""Print the shell command of the README that follows the comment `<!-- command: NAME -->`.

Usage: python tools/readme_command.py NAME
"""

import re
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def command(name: str) -> str:
    """Return the only line of the only bash block after the comment.

    The README breaks this line with backslashes, so that no page needs a horizontal scroll bar.
    """
    pattern = rf"<!-- command: {re.escape(name)} -->\s*\n```bash\n(.*?)^```$"
    blocks = re.findall(pattern, README.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    if len(blocks) != 1:
        sys.exit(
            f"README.md must have one bash block after <!-- command: {name} -->, "
            f"but it has {len(blocks)}."
        )
    lines = blocks[0].replace("\\\n", "").strip().splitlines()
    if len(lines) != 1:
        sys.exit(f"The command {name!r} of README.md must be one line, but it has {len(lines)}.")
    return lines[0]


if __name__ == "__main__":
    print(command(sys.argv[1]))
