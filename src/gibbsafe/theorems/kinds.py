"""Kinds of model, as theorems know them: by the constants that models of a kind can declare."""

from __future__ import annotations

from enum import Enum

from gibbsafe.theorems.constants import Constants

__all__ = ["Kind"]


class Kind(Enum):
    """What a model is: every theorem names the kinds it prices, and a model the one it is of."""

    GIBBS = "a loss with a Gaussian prior that the plan chooses"
    FAMILY = "a likelihood or bounded loss with a prior of its own"
    CONTAMINATED = "a contaminated likelihood"
    OWN = "a likelihood of the user's own, whose scores are clipped"

    @property
    def declares(self) -> Constants:
        """One declaration with everything that a model of this kind, its plan and its sampler can state.

        A theorem that cannot price this prices no model of the kind; a model that declares more is of another kind. A likelihood
        of the user's own may declare itself convex and smooth besides, and is then priced like a loss by its last iterates.
        """
        return _DECLARED[self]

    def __str__(self) -> str:
        return self.value


_DECLARED = {
    Kind.GIBBS: Constants(
        lipschitz=1.0,
        difference_lipschitz=2.0,
        convex=True,
        loss_strong_convexity=0.5,
        smoothness=1.0,
        prior_precision=1.0,
        prior_smoothness=1.0,
        record_radius=1.0,
        n=10,
        maximum_n=20,
        dimension=2,
        slack=1e-9,
        step=0.1,
        steps=10,
    ),
    Kind.FAMILY: Constants(
        loss_bound=1.0,
        loss_interval=(0.0, 1.0),
        loss_range=1.0,
        difference_bound=1.0,
        difference_range=1.0,
        sensitivity=1.0,
        fixed_normaliser=True,
        metric_lipschitz=1.0,
        metric_diameter=1.0,
        stochastic_rate=1.0,
        stochastic_floor=0.0,
        likelihood_ratio_bound=2.0,
        beta_prior=(1.0, 1.0),
        n=10,
        dimension=2,
    ),
    Kind.OWN: Constants(clip=1.0, n=10, maximum_n=20, dimension=2),
    Kind.CONTAMINATED: Constants(contamination=0.1, density_ratio=2.0, n=10, dimension=2),
}
