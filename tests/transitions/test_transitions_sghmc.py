"""SGHMC and its thermostat: what they need, and what they refuse."""

import pytest

from sgevidence.samplers import HMC, SGHMC, SGNHT


def test_what_needs_an_anchor():
    assert HMC().needs_anchor and SGHMC().needs_anchor and SGNHT().needs_anchor
    assert not SGHMC(control_variate=False).needs_anchor and not SGNHT(control_variate=False).needs_anchor


def test_noise_is_not_given_where_it_is_measured():
    with pytest.raises(ValueError, match=r"gradient_noise=0\.1 is for control_variate=False"):
        SGHMC(gradient_noise=0.1)._validate_params()
    SGHMC(gradient_noise=0.1, control_variate=False)._validate_params()


@pytest.mark.parametrize(
    "bad", [HMC(n_steps=0), SGHMC(learning_rate=0.0), SGNHT(momentum_decay=2.0), SGNHT(learning_rate=0.6)]
)
def test_parameters_are_checked(bad):
    with pytest.raises(ValueError, match="parameter of"):
        bad._validate_params()
