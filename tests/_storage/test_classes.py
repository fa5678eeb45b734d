"""The table of classes that files may contain."""

import inspect

import pytest

import sk_deltauq
from sk_deltauq._storage.classes import _MODULES, find_class, find_name
from tests.test_architecture import is_abstract, our_classes


@pytest.mark.parametrize("name", _MODULES)
def test_each_name_belongs_to_one_class(name):
    cls = find_class(name)
    assert inspect.isclass(cls)
    assert not is_abstract(cls)
    assert find_name(cls) == name


def test_unlisted_names_are_rejected():
    with pytest.raises(ValueError, match=r"'numpy.load', which .* Update sk_deltauq"):
        find_class("numpy.load")


def test_all_estimators_methods_and_maps_are_listed():
    kinds = sk_deltauq._estimators.base.BaseUQ, sk_deltauq._training.method.Method
    kinds += (sk_deltauq._estimators.monotone_maps.MonotoneMap,)
    concrete = [cls for cls in our_classes() if issubclass(cls, kinds) and not is_abstract(cls)]
    assert len(concrete) > 20
    assert [cls for cls in concrete if find_name(cls) is None] == []
