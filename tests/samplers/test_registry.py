"""Samplers and posteriors meet by type: the wrong pair is refused by mypy, by the sampler, and when a sampler is put together."""

from pathlib import Path

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.data import Blocks
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.posteriors.beta import BetaPosterior
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.posteriors.stage import Stage
from gibbsafe.samplers import SAMPLERS, can_draw, draw_exactly

POSTERIORS = {
    "BetaPosterior": BetaPosterior(2.0, 3.0, 0.1, 0.9),
    "GibbsPosterior": GibbsPosterior(Blocks(np.ones((3, 1))), LogisticLoss(), 1.0, np.ones(1), np.zeros(1)),
}
STAGE = Stage(1.0, (1.0,), (0.0,), 1, step=0.1, steps=2)


@pytest.mark.parametrize("posterior", POSTERIORS)
@pytest.mark.parametrize("name", SAMPLERS)
def test_a_sampler_draws_from_posteriors_of_its_type_alone(name, posterior):
    sampler, given = SAMPLERS[name], POSTERIORS[posterior]
    if isinstance(given, sampler.posterior):
        assert np.isfinite(sampler.draw(STAGE, given, 1, np.random.default_rng(0))[0]).all()
    else:
        with pytest.raises(gs.PremiseError, match=f"sampler {name}: draws from .*, not {posterior}"):
            sampler.draw(STAGE, given, 1, np.random.default_rng(0))


def test_a_posterior_nobody_registered_has_no_exact_draw():
    assert not can_draw(POSTERIORS["GibbsPosterior"])
    with pytest.raises(gs.PremiseError, match="no exact draw is registered"):
        draw_exactly(POSTERIORS["GibbsPosterior"], 1, np.random.default_rng(0))


SNIPPET = """
import numpy as np
from gibbsafe.posteriors.beta import BetaPosterior
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.posteriors.protocols import ExactPosterior
from gibbsafe.samplers import Sampler, closed_form, langevin

def pairs(beta: BetaPosterior, gibbs: GibbsPosterior, random: np.random.Generator) -> None:
    closed_form.sample(beta, 1, random)
    closed_form.sample(gibbs, 1, random)  # refused
    langevin.sample(gibbs, 1, random, step=0.1, steps=3)
    langevin.sample(beta, 1, random, step=0.1, steps=3)  # refused
    Sampler("own", ExactPosterior, closed_form.sample, "", "", lambda shape: True)
    Sampler("own", GibbsPosterior, langevin.sample, "", "", lambda shape: True)
    Sampler("own", ExactPosterior, langevin.sample, "", "", lambda shape: True)  # refused
"""


def test_mypy_refuses_a_sampler_given_the_wrong_posterior(tmp_path, monkeypatch):
    api = pytest.importorskip("mypy.api")
    monkeypatch.setenv("MYPYPATH", str(Path(gs.__file__).parents[1]))
    snippet = tmp_path / "snippet.py"
    snippet.write_text(SNIPPET)
    configuration = str(Path(__file__).parents[2] / "pyproject.toml")
    found, problems, _ = api.run(["--config-file", configuration, str(snippet)])  # as `make lint` does: its cache serves
    assert not problems, problems
    lines = {int(line.split(":")[1]) for line in found.splitlines() if "snippet.py" in line and "error:" in line}
    assert lines == {number for number, line in enumerate(SNIPPET.splitlines(), start=1) if "# refused" in line}, found
