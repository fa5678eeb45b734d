"""The tool that writes the present output of examples into pages."""

from tools import page_outputs

PAGE = """Title
=====

>>> a = 1
>>> a + 1
3

   >>> for i in range(2):
   ...     print(i)
   0

>>> {"k": 12345}
{...}
>>> a / 0
Traceback (most recent call last):
ZeroDivisionError: division by zero

The end.
"""


def test_outputs_are_replaced_and_the_rest_stays():
    expected = PAGE.replace("a + 1\n3\n", "a + 1\n2\n").replace("   0\n\n", "   0\n   1\n\n")
    assert page_outputs.update(PAGE) == expected
    assert page_outputs.update(expected) == expected


def test_only_changed_pages_are_written(tmp_path, capsys):
    old, good = tmp_path / "old.rst", tmp_path / "good.rst"
    old.write_text(PAGE, encoding="utf-8")
    good.write_text(">>> 1\n1\n", encoding="utf-8")
    page_outputs.main([str(old), str(good)])
    assert "old.rst" in capsys.readouterr().out
    assert good.read_text(encoding="utf-8") == ">>> 1\n1\n"
