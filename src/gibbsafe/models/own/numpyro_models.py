"""NumPyro models with one plate over records, as likelihoods of one's own (``gibbsafe[numpyro]``).

Parameters are the latent sites in unconstrained coordinates, where their prior has a density everywhere. The log-likelihood of
one record is what the model says of arrays of length 1; that those of several records add up is tried on synthetic ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from gibbsafe._extras import require_extra
from gibbsafe._types import Floats
from gibbsafe._validate import fail
from gibbsafe.errors import PremiseError
from gibbsafe.models.own.custom import Custom
from gibbsafe.models.own.priors import as_normal, own_prior
from gibbsafe.models.own.records import RecordColumns
from gibbsafe.posteriors.record_gradients import Field, Form

__all__ = ["from_numpyro"]

#: Numbers of synthetic records with which a model is traced: what grows with them is a plate over records.
FEW, MORE = 2, 3
#: Draws of the prior that are made at once.
DRAWN = 512


def from_numpyro(model: Callable[..., Any], *, columns: Any, label: str | None = None, **options: Any) -> Custom:
    """Return a NumPyro model as a likelihood of your own.

    Args:
        model: a function of arrays, one per column by name, observed columns included; with one plate over records around its
            observed sites. Latent sites are outside of it and continuous.
        columns: the public domain of every argument, as `Custom` has it.
        label: what plans call it; by default the function's name.
        options: what else `Custom` takes: clip, chains, steps, power, start.

    Parameters of a release are unconstrained; `Custom.constrained` gives the model's own.
    """
    require_extra("numpyro", "from_numpyro")
    if not callable(model):
        fail("model", type(model).__name__, "a NumPyro model, a function of arrays")
    declared = RecordColumns.declared(columns)
    traces = [_traced(model, declared, rows) for rows in (FEW, MORE)]
    sites = _latent_sites(*traces)
    code = NumpyroModel(
        model,
        tuple(_unconstrained(traces[0][name]) for name in sites),
        _outcomes(traces[1], declared),
        declared.form,
        tuple(declared.synthetic(1, np.random.default_rng(1))[0].tolist()),
    )
    form = Form(tuple(Field(site.name, site.shape) for site in code.sites))
    begin = options.pop("start", None)
    drawn = code.prior_draws(form, DRAWN, 0)
    middle = np.median(drawn, axis=0) if begin is None else begin
    prior = own_prior(code.log_prior, form, middle, "of the NumPyro model")
    prior = replace(prior, sampler=lambda count, seed: code.prior_draws(form, count, seed))
    made = Custom(
        log_likelihood=code.log_likelihood,
        parameters={each.name: each.shape for each in form.fields},
        prior=prior if begin is not None else as_normal(prior, form, drawn) or prior,
        columns=declared,
        simulator=code.simulated if all(column for _, column in code.outcomes) else None,
        constrain=code.constrained,
        label=label if label is not None else getattr(model, "__name__", "NumPyro model").strip("<>"),
        **options,
    )
    _require_sum(code, made)
    return made


@dataclass(frozen=True)
class Site:
    """A latent site: its name, and the shape that it has when it is unconstrained."""

    name: str
    shape: tuple[int, ...]


def _traced(model: Callable[..., Any], columns: RecordColumns, rows: int) -> dict[str, Any]:
    """Return a trace of the model on synthetic records, its sites by name."""
    import jax
    from numpyro import handlers

    even = columns.synthetic(rows, np.random.default_rng(rows))
    named = columns.form.named(even, np.int32)
    try:
        with jax.enable_x64(True):
            found = handlers.trace(handlers.seed(model, jax.random.PRNGKey(0))).get_trace(**named)
    except TypeError as error:
        raise PremiseError(f"model: is not called with the declared columns ({' '.join(str(error).split())[:160]})") from None
    except NotImplementedError:
        raise PremiseError("model: has a site that nobody can sample, an improper prior say; declare proper ones") from None
    except Exception as error:
        words = " ".join(str(error).split())[:160]
        raise PremiseError(f"model: fails on synthetic records ({type(error).__name__}: {words})") from None
    for name, site in found.items():
        if site["type"] == "plate" and site["args"][1] not in (None, site["args"][0]):
            raise PremiseError(f"plate {name!r}: subsamples; every record counts in every step here, so leave subsample_size out")
        if site["type"] == "param":
            raise PremiseError(f"param {name!r}: a parameter without a prior; make it a sample site")
    return dict(found)


def _latent_sites(few: dict[str, Any], more: dict[str, Any]) -> list[str]:
    """Return the latent sites; refuse what no likelihood of single records has."""
    if set(few) != set(more):
        raise PremiseError("model: has other sites when there are other records; sites must not depend on records")
    plates = _plates_over_records(few, more)
    found = []
    for name, site in few.items():
        if site["type"] != "sample":
            continue
        inside = [frame.name for frame in site["cond_indep_stack"] if frame.name in plates]
        if site["is_observed"]:
            if not inside:
                raise PremiseError(f"site {name!r}: is observed outside of the plate over records")
            continue
        if inside or np.shape(site["value"]) != np.shape(more[name]["value"]):
            raise PremiseError(f"site {name!r}: is latent for every record; only parameters that records share are released")
        if site["fn"].support is None or site["fn"].support.is_discrete:
            raise PremiseError(f"site {name!r}: is discrete and latent; sum it out, for it has no gradient")
        found.append(name)
    if not found:
        raise PremiseError("model: has no latent site, so there is nothing to release")
    return found


def _plates_over_records(few: dict[str, Any], more: dict[str, Any]) -> list[str]:
    sizes = {name: (site["args"][0], more[name]["args"][0]) for name, site in few.items() if site["type"] == "plate"}
    plates = [name for name, (first, second) in sizes.items() if first != second]
    if len(plates) != 1:
        told = ", ".join(plates) if plates else "none"
        raise PremiseError(f"model: must have one plate over records, whose size is their number, and has {told}")
    if sizes[plates[0]] != (FEW, MORE):
        raise PremiseError(f"plate {plates[0]!r}: its size is not the number of records")
    return plates


def _outcomes(trace: dict[str, Any], columns: RecordColumns) -> tuple[tuple[str, str | None], ...]:
    """Return the observed sites, each with the column that it observes; None where that is not a column as it is."""
    named = columns.form.named(columns.synthetic(MORE, np.random.default_rng(MORE)), np.int32)

    def observed(site: Any) -> str | None:
        value = np.asarray(site["value"])
        return next((name for name, each in named.items() if value.shape == each.shape and (value == each).all()), None)

    return tuple((name, observed(site)) for name, site in trace.items() if site["type"] == "sample" and site["is_observed"])


def _unconstrained(site: Any) -> Site:
    import jax.numpy as jnp
    from numpyro.distributions import biject_to

    inverse = biject_to(site["fn"].support).inv(jnp.asarray(site["value"]))
    return Site(site["name"], tuple(int(size) for size in np.shape(inverse)))


@dataclass(frozen=True)
class NumpyroModel:
    """The functions that a NumPyro model gives; equal if the model and its sites are, so that compilations are shared."""

    model: Callable[..., Any]
    sites: tuple[Site, ...]
    outcomes: tuple[tuple[str, str | None], ...]
    record: Form
    example: tuple[float, ...]

    def _trace(self, parameters: Mapping[str, Any], arguments: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the sites at unconstrained parameters, and the log of the Jacobian."""
        from numpyro import handlers
        from numpyro.distributions import biject_to

        jacobian: list[Any] = []

        def constrained(site: Any) -> Any:
            if site["type"] != "sample" or site["name"] not in parameters:
                return None
            transform = biject_to(site["fn"].support)
            value = transform(parameters[site["name"]])
            jacobian.append(transform.log_abs_det_jacobian(parameters[site["name"]], value).sum())
            return value

        with handlers.trace() as found:
            handlers.substitute(self.model, substitute_fn=constrained)(**arguments)  # without a key: nothing may be random
        return found, sum(jacobian)

    def log_likelihood(self, parameters: Mapping[str, Any], record: Mapping[str, Any]) -> Any:
        """Return that of one record."""
        return self._of_records(parameters, {name: value[None] for name, value in record.items()})

    def _of_records(self, parameters: Mapping[str, Any], records: Mapping[str, Any]) -> Any:
        found, _ = self._trace(parameters, records)
        return sum(_log_probability(found[name]) for name, _ in self.outcomes)

    def log_prior(self, parameters: Mapping[str, Any], records: Mapping[str, Any] | None = None) -> Any:
        """Return the log density of the unconstrained parameters."""
        found, jacobian = self._trace(parameters, self._one_record() if records is None else records)
        return sum(_log_probability(found[site.name]) for site in self.sites) + jacobian

    def _one_record(self, row: Floats | None = None) -> dict[str, Any]:
        """Return arrays of one synthetic record: the prior does not depend on which, `_require_sum` tries."""
        return self.record.named(np.array([self.example]) if row is None else row[None], np.int32)

    def prior_draws(self, form: Form, count: int, seed: int) -> Floats:
        """Return draws (count, d) of the prior in unconstrained coordinates."""
        import jax

        draws = []
        with jax.enable_x64(True):
            for part in range(-(-count // DRAWN)):  # of one size, so that it is compiled once
                keys = jax.random.split(jax.random.fold_in(jax.random.PRNGKey(seed), part), DRAWN)
                draws.append(form.flat(_compiled(self, "_prior_draw")(keys), (DRAWN,)))
        return np.concatenate(draws)[:count]

    def _prior_draw(self, key: Any) -> dict[str, Any]:
        from numpyro import handlers
        from numpyro.distributions import biject_to

        found = handlers.trace(handlers.seed(self.model, key)).get_trace(**self._one_record())
        return {site.name: biject_to(found[site.name]["fn"].support).inv(found[site.name]["value"]) for site in self.sites}

    def constrained(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the model's own parameters (draws, …) by name."""
        import jax
        import jax.numpy as jnp

        with jax.enable_x64(True):
            found = _compiled(self, "_constrained_point")({name: jnp.asarray(each) for name, each in parameters.items()})
            return {name: np.asarray(each) for name, each in found.items()}

    def _constrained_point(self, point: Mapping[str, Any]) -> dict[str, Any]:
        found, _ = self._trace(point, self._one_record())
        return {site.name: found[site.name]["value"] for site in self.sites}

    def simulated(self, parameters: Mapping[str, Any], columns: Mapping[str, Any], generator: np.random.Generator) -> Any:
        """Return outcomes of synthetic records, drawn from the model at these parameters."""
        import jax

        key = jax.random.PRNGKey(int(generator.integers(2**31)))
        with jax.enable_x64(True):
            found = _compiled_simulation(self)(dict(parameters), dict(columns), key)
            return {name: np.asarray(each, dtype=np.float64) for name, each in found.items()}

    def _outcomes_at(self, parameters: Mapping[str, Any], columns: Mapping[str, Any], key: Any) -> dict[str, Any]:
        from numpyro import handlers
        from numpyro.distributions import biject_to

        def given(site: Any) -> Any:
            free = site["type"] == "sample" and site["name"] in parameters
            return biject_to(site["fn"].support)(parameters[site["name"]]) if free else None

        open_model = handlers.uncondition(handlers.substitute(self.model, substitute_fn=given))
        found = handlers.trace(handlers.seed(open_model, key)).get_trace(**columns)
        return {column: found[name]["value"] for name, column in self.outcomes if column is not None}


@lru_cache(maxsize=32)
def _compiled(code: NumpyroModel, name: str) -> Any:
    """Return a method of one point or key for many of them, compiled once."""
    import jax

    return jax.jit(jax.vmap(getattr(code, name)))


@lru_cache(maxsize=16)
def _compiled_simulation(code: NumpyroModel) -> Any:
    import jax

    return jax.jit(code._outcomes_at)


def _log_probability(site: Any) -> Any:
    value = site["fn"].log_prob(site["value"])
    return (value if site["scale"] is None else site["scale"] * value).sum()


def _require_sum(code: NumpyroModel, made: Custom) -> None:
    """Refuse a model whose log-likelihood of several records is not the sum of theirs, or whose prior depends on them."""
    import jax

    rng = np.random.default_rng(5)
    rows, point = made.columns.synthetic(6, rng), made.prior.points(2, rng)[1]
    with jax.enable_x64(True):
        whole = float(jax.jit(code._of_records)(made.form.named(point), code.record.named(rows, np.int32)))
        prior = jax.jit(code.log_prior)
        told = [float(prior(made.form.named(point), code._one_record(row))) for row in rows[:2]]
    parts = float(made.code.values(rows, point[None]).sum())
    if np.isfinite(whole) and abs(whole - parts) > 1e-6 * (1 + abs(whole)):
        raise PremiseError("model: its log-likelihood is not a sum over records; a record's must not depend on other records")
    if abs(told[0] - told[1]) > 1e-9 * (1 + abs(told[0])):
        raise PremiseError("model: its prior depends on records; a prior is public")
