"""The model tests compare to ten digits: in double precision, but for the test of single precision."""

import pytest


@pytest.fixture(autouse=True)
def to_ten_digits(double_precision):
    pass
