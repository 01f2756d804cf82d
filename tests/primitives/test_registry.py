from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from lifemix.errors import SettingError
from lifemix.primitives import PRIMITIVES, LogLocationScale, Primitive, Weibull, primitive_class


@pytest.fixture(autouse=True)
def registry():
    """Let what a test registers end with it."""
    before = dict(PRIMITIVES)
    yield
    PRIMITIVES.clear()
    PRIMITIVES.update(before)


def test_names_are_found_in_any_spelling_and_others_refused():
    assert primitive_class("Log-Normal") is PRIMITIVES["lognormal"]
    assert primitive_class(Weibull) is Weibull
    for unknown in ("gumbel", None, 3, Weibull(torch.zeros(()), torch.zeros(())), int):
        with pytest.raises(
            SettingError, match="unknown primitive; got .*, expected one of .*import it first"
        ):
            primitive_class(unknown)


def test_built_in_primitives_are_registered():
    assert {"weibull", "lognormal", "loglogistic"} <= set(PRIMITIVES)
    assert [PRIMITIVES[name].label for name in ("weibull", "lognormal", "loglogistic")] == [
        "Weibull",
        "log-normal",
        "log-logistic",
    ]


def test_a_name_belongs_to_one_class_which_may_be_defined_anew():
    def define():
        class Anew(Primitive, name="anew"):
            pass

        return Anew

    first, second = define(), define()
    assert first is not second
    assert PRIMITIVES["anew"] is second
    with pytest.raises(
        SettingError,
        match="must be new; got 'weibull', which is lifemix.primitives.weibull.Weibull",
    ):

        class Other(Primitive, name="Weibull"):
            pass


def test_a_declaration_that_lacks_something_says_what():
    class Nameless(Weibull):
        pass

    with pytest.raises(
        SettingError, match="needs a name of its own; got Nameless.*name='nameless'"
    ):
        primitive_class(Nameless)

    class Empty(Primitive, name="empty"):
        pass

    with pytest.raises(
        SettingError, match="must define all of its functions; got Empty without .*'log_pdf'"
    ):
        primitive_class("empty")

    class Plain(Weibull, name="plain"):
        pass

    assert primitive_class(Plain).parameter_names() == ("log_shape", "log_scale")

    class Bare(LogLocationScale, name="bare"):
        standard = Weibull.standard
        standard_tail = 1.0

    with pytest.raises(SettingError, match="must be a dataclass of its parameters; got Bare"):
        primitive_class(Bare)

    @dataclass(frozen=True, eq=False)
    class Misplaced(LogLocationScale, name="misplaced"):
        log_shape: Tensor
        scale: Tensor
        standard = Weibull.standard
        standard_tail = 1.0

    with pytest.raises(
        SettingError, match=r"location_name must be one of the parameters .*; got 'log_scale'"
    ):
        primitive_class(Misplaced)

    @dataclass(frozen=True, eq=False)
    class Tailless(LogLocationScale, name="tailless"):
        log_shape: Tensor
        log_scale: Tensor
        standard = Weibull.standard

    with pytest.raises(
        SettingError, match="must have two parameters and a standard_tail; got Tailless"
    ):
        primitive_class(Tailless)
