"""Plans of families with declared priors: proportions, rates, tables, networks, chains, finite families, Welsch's location."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any

import mpmath as mp
import numpy as np

import gibbsafe as gs

from . import densities, exact
from .adaptive import Line, Pair, normalised, product_curve
from .calculus_cases import epsilons_for
from .draw import Generator, either, magnitude, size
from .suite import Case, case
from .theorem_cases import ADJACENCIES, budget_of


def planned(rng: Generator, made: Case, model: Any, n: int | None, adjacency: str, rows: int, **asked: Any) -> Any:
    """Return a plan under a random budget, and write down what was asked."""
    budget = asked.pop("budget", None) or budget_of(rng, pure=True)
    made.setting = {"model": model.to_dict(), "budget": budget, "n": n, "adjacency": adjacency, "rows": rows, **asked}
    plan = gs.plan(model, budget, n=n, adjacency=adjacency, rows_per_person=rows, **asked)
    made.setting |= {"beta": plan.inverse_temperature, "theorem": plan.theorem.name}
    return plan


def hold(rng: Generator, made: Case, plan: Any, *pairs: Pair) -> None:
    """Hold independent blocks beside the plan's claim: the profile, the budget, and the pure ε where one is claimed."""
    budget = plan.budget
    epsilons = [budget.epsilon, *epsilons_for(rng, budget.epsilon)][: 5 if len(pairs) == 1 else 3]
    with np.errstate(all="ignore"):
        shown = pairs[0].curve(epsilons) if len(pairs) == 1 else product_curve(pairs, epsilons)
    made.profile(plan.guarantee, shown, epsilons)
    made.at_most("the budget's δ", float(shown.worst[0]), budget.delta, float(shown.error[0]))
    pure = plan.guarantee.epsilon(0.0)
    if math.isfinite(pure) and len(pairs) == 1:
        made.at_most("log ratio", pairs[0].largest(), pure, 4e-16 * pure)


def hold_range(made: Case, plan: Any, width: mp.mpf) -> None:
    """Hold the range of the log density ratio, in 50 digits, beside the plan's pure ε, which every range claim equals."""
    made.at_most("range", width, plan.guarantee.epsilon(0.0))


def people(rng: Generator, adjacency: str) -> tuple[int, int, int]:
    """Return (rows of a person at most, rows removed, rows put in their place)."""
    rows = int(either(rng, 1, 1, 1, 2, 4))
    if adjacency == "add-remove":
        return rows, rows, 0
    return rows, rows, rows if rows == 1 else int(rng.integers(1, rows + 1))


# -- proportions -------------------------------------------------------------------------------------------------------


def beta_pair(
    a: float, b: float, first: tuple[float, float], second: tuple[float, float], ends: tuple[float, float], **grid: Any
) -> Pair:
    """Beta(a + x, b + y) for (x, y) of either data set, on logits between the ends."""
    (x1, y1), (x2, y2) = first, second

    def terms(u: np.ndarray) -> np.ndarray:
        ones, zeros = 2 * a + x1 + x2, 2 * b + y1 + y2
        return -ones * densities.log_sigmoid(u) - zeros * densities.log_sigmoid(-u)

    modes = [math.log((a + x) / (b + y)) for x, y in (first, second)]
    line = Line(*ends, [min(max(mode, ends[0]), ends[1]) for mode in (*modes, 0.0)], 1.0, (), terms)
    return normalised(densities.beta_on_logits(a + x1, b + y1), densities.beta_on_logits(a + x2, b + y2), line, **grid)


def logit(p: float) -> float:
    """log p/(1 − p)."""
    return math.log(p) - math.log1p(-p)


@case("trimmed proportions", 1.5)
def proportions(rng: Generator, made: Case) -> None:
    """Beta posteriors between trim points from 1e-12 on, several trials, both adjacencies, several rows a person."""
    adjacency = str(either(rng, *ADJACENCIES))
    low = magnitude(rng, 1e-12, 0.5)
    high = 1 - magnitude(rng, 1e-12, 0.5) if rng.random() < 0.7 else low + (1 - low) * magnitude(rng, 1e-9, 0.9)
    trials, n = int(either(rng, 1, 1, 5)), size(rng, 1e6) + 4
    rows, out, into = people(rng, adjacency)
    if not low < high < 1:
        return
    model = gs.models.BetaBernoulli(alpha=magnitude(rng), beta=magnitude(rng), trim=(low, high), trials=trials)
    plan = planned(rng, made, model, n, adjacency, rows, draws=1)
    beta, share = plan.inverse_temperature, float(either(rng, 0.0, 1.0, 0.5, rng.random()))
    common = (beta * trials * (n - out) * share, beta * trials * (n - out) * (1 - share))
    won, lost = bool(rng.random() < 0.5), beta * trials
    first = (common[0] + lost * out * won, common[1] + lost * out * (not won))
    second = (common[0] + lost * into * (not won), common[1] + lost * into * won)
    made.setting |= {"first": first, "second": second}
    with mp.workdps(50):
        up, down = mp.log(mp.mpf(high) / mp.mpf(low)), mp.log((1 - mp.mpf(low)) / (1 - mp.mpf(high)))
        hold_range(made, plan, beta * trials * out * (max(up, down) if adjacency == "add-remove" else up + down))
    hold(rng, made, plan, beta_pair(model.alpha, model.beta, first, second, (logit(low), logit(high))))


@case("untrimmed proportions", 0.5)
def untrimmed(rng: Generator, made: Case) -> None:
    """The exact profile of Beta posteriors, shapes from 1e-12 to beyond 1e6, where it refuses; three numbers of successes."""
    n = size(rng, 30 if rng.random() < 0.97 else 2000)
    model = gs.models.BetaBernoulli(alpha=magnitude(rng, high=2e6), beta=magnitude(rng, high=2e6))
    budget = gs.Budget(magnitude(rng, 1e-3, 1e2), magnitude(rng, 1e-13, 0.3))
    plan = planned(rng, made, model, n, "replace-one", 1, budget=budget, theorem="beta-bernoulli")
    beta = plan.inverse_temperature
    for k in {0, n - 1, int(rng.integers(n))}:
        first, second = (beta * (k + 1), beta * (n - 1 - k)), (beta * k, beta * (n - k))
        hold(rng, made, plan, beta_pair(model.alpha, model.beta, first, second, (-math.inf, math.inf)))


@case("untrimmed proportions, total variation", 0.5)
def stochastic(rng: Generator, made: Case) -> None:
    """Assumption 2's constants for symmetric Beta priors: the total variation at every k, β = 1."""
    alpha, n = magnitude(rng, 1e-3, 1e12), size(rng, 50)
    model = gs.models.BetaBernoulli(alpha=alpha, beta=alpha)
    budget = gs.Budget(magnitude(rng, 1e-6, 10.0), 0.999999)
    plan = planned(rng, made, model, n, "replace-one", 1, budget=budget, theorem="stochastic-lipschitz")
    for k in {0, n - 1, int(rng.integers(n))}:
        first, second = (float(k + 1), float(n - 1 - k)), (float(k), float(n - k))
        hold(rng, made, plan, beta_pair(alpha, alpha, first, second, (-math.inf, math.inf)))


# -- rates ---------------------------------------------------------------------------------------------------------------


def gamma_pair(first: tuple[float, float], second: tuple[float, float], trim: tuple[float, float], **grid: Any) -> Pair:
    """Gamma(shape, rate) of either data set between trim points, as densities of the distance from the lower one."""

    def terms(d: np.ndarray) -> np.ndarray:
        grown = np.log1p(d / trim[0])
        return sum(abs(shape - 1) * grown + rate * d for shape, rate in (first, second))

    width = trim[1] - trim[0]
    modes = [(shape - 1) / rate - trim[0] if rate > 0 else width for shape, rate in (first, second)]
    line = Line(0.0, width, [min(max(mode, 0.0), width) for mode in modes], width, (), terms)
    log_p, log_q = (densities.gamma(shape, rate, trim[0]) for shape, rate in (first, second))
    return normalised(log_p, log_q, line, **grid)


def _single(low: mp.mpf, high: mp.mpf, power: float, t: mp.mpf) -> mp.mpf:
    """The range over θ of θt − power·log θ."""
    least = min(max(power / t, low), high) if t > 0 else high
    at = [theta * t - power * mp.log(theta) for theta in (low, high, least)]
    return max(at) - min(at)


def rates(name: str, rng: Generator, made: Case) -> None:
    """Exponential, Laplace and normal records: gamma posteriors, all numbers over many decades, statistics at their ends."""
    adjacency = str(either(rng, *ADJACENCIES))
    low = magnitude(rng)
    trim = (low, low * (1 + magnitude(rng, 1e-9, 1e9)))
    bound = magnitude(rng, 1e-9, 1e9)
    located: dict[str, float] = {}
    if name != "ExponentialRate":
        located = {"location": bound * float(either(rng, 0.0, 0.3, -1.0, 3.0))}
    shape, rate = magnitude(rng, 1e-6, 1e9), float(either(rng, 0.0, magnitude(rng)))
    model = getattr(gs.models, name)(trim=trim, bound=bound, shape=shape, rate=rate, **located)
    rows, out, into = people(rng, adjacency)
    n = size(rng, 1e6) + rows
    theorem = str(either(rng, "auto", "bounded-range", "lipschitz-metric", "exponential-mechanism")) if rows == 1 else "auto"
    plan = planned(rng, made, model, n, adjacency, rows, theorem=theorem)
    beta, power = plan.inverse_temperature, 0.5 if name == "NormalPrecision" else 1.0
    away = abs(located.get("location", 0.0))
    near, far = max(0.0, away - bound), bound + away
    ends = {"ExponentialRate": (0.0, bound), "LaplaceScale": (near, far), "NormalPrecision": (near**2 / 2, far**2 / 2)}[name]
    common = (n - out) * float(either(rng, *ends, sum(ends) / 2))
    gone, come = (float(end) for end in (ends if rng.random() < 0.5 else ends[::-1]))
    pair = [
        (shape + beta * power * (n - out + times), rate + beta * (common + times * t)) for times, t in ((out, gone), (into, come))
    ]
    made.setting |= {"posteriors": pair}
    if plan.theorem.name == "bounded-range":
        with mp.workdps(50):
            (c1, c2), (t0, t1) = (map(mp.mpf, each) for each in (trim, ends))
            replaced = (c2 - c1) * (t1 - t0)
            width = max(replaced if adjacency == "replace-one" else 0, _single(c1, c2, power, t0), _single(c1, c2, power, t1))
            width = replaced if adjacency == "replace-one" and rows == 1 else width
            hold_range(made, plan, beta * rows * width * (1 - mp.mpf(10) ** -14))  # the ends are doubles
    hold(rng, made, plan, gamma_pair(pair[0], pair[1], trim))


for _name in ("ExponentialRate", "LaplaceScale", "NormalPrecision"):
    case(_name, 2 / 3)(partial(rates, _name))


def exact_hazard(shape: float, rate: float, low: float, high: float) -> mp.mpf:
    """Density over mass at ``low``: 1/∫ (t/low)^{shape−1} e^{−rate(t − low)} dt, by quadrature in 30 digits around the peak."""
    with mp.workdps(30):
        s, r, first, room = mp.mpf(shape), mp.mpf(rate), mp.mpf(low), mp.mpf(high) - mp.mpf(low)
        peak = min(max((s - 1) / r - first, mp.mpf(0)), room) if r else room
        steep = max(abs((s - 1) / (first + peak) - r), mp.sqrt(s - 1) / (first + peak), 1 / room)
        ends = {min(max(peak + k / steep, mp.mpf(0)), room) for k in (-60, -20, -6, -2, 0, 2, 6, 20, 60)}
        return 1 / mp.quad(lambda t: mp.exp((s - 1) * mp.log1p(t / first) - r * t), sorted(ends))


@case("hazards of rates", 0.3)
def hazards(rng: Generator, made: Case) -> None:
    """c of Assumption 2 for shapes from 1 on, all numbers over many decades: the hazard of the trimmed prior at its lower end."""
    low = magnitude(rng, 1e-6, 1e6)
    trim = (low, low * (1 + magnitude(rng, 1e-6, 1e3)))
    shape, rate = magnitude(rng, 1.0, 1e9), float(either(rng, 0.0, magnitude(rng, 1e-9, 1e9)))
    made.setting |= {"trim": trim, "shape": shape, "rate": rate}
    model = gs.models.ExponentialRate(trim=trim, bound=1.0, shape=shape, rate=rate)
    stated = model.constants(np.empty(0), adjacency=gs.Adjacency.ADD_REMOVE, n=None, rows_per_person=1).stochastic_rate
    if stated is not None:
        made.at_most("1/c", 1 / exact_hazard(shape, rate, *trim), 1 / stated)


@case("full precisions", 0.3)
def full(rng: Generator, made: Case) -> None:
    """Matrices between trim points: the range of one record's likelihood in 50 digits, its whole curve in one dimension."""
    adjacency, d = str(either(rng, *ADJACENCIES)), int(rng.integers(1, 5))
    low, bound = magnitude(rng, 1e-3, 1e3), magnitude(rng, 1e-3, 1e3)
    trim = (low, low * (1 + magnitude(rng, 1e-2, 1e2)))
    model = gs.models.MultivariateNormalPrecision(dimension=d, bound=bound, trim=trim)
    rows, out, into = people(rng, adjacency)
    n = size(rng, 100) + rows
    plan = planned(rng, made, model, n, adjacency, rows, theorem="bounded-range", draws=1)
    beta, square = plan.inverse_temperature, bound**2 / 2
    with mp.workdps(50):
        c1, c2 = map(mp.mpf, trim)
        t, half_log = mp.mpf(bound) ** 2 / 2, mp.log(c2 / c1) / 2
        single = max((d - 1) * half_log + _single(c1, c2, 0.5, t), d * half_log)
        replaced = (c2 - c1) * t * (2 if d > 1 else 1)
        width = replaced if adjacency == "replace-one" and rows == 1 else single
        hold_range(made, plan, beta * rows * width * (1 - mp.mpf(10) ** -14))
    if d == 1:
        shapes = [1 + beta * (n - out + times) / 2 for times in (out, into)]
        common = beta * (n - out) * square * float(rng.random())
        rates_of = [common + beta * out * square, common + beta * into * square * (adjacency == "replace-one" and rows > 1)]
        hold(rng, made, plan, gamma_pair((shapes[0], rates_of[0]), (shapes[1], rates_of[1]), trim))


@case("diagonal precisions", 0.4)
def diagonal(rng: Generator, made: Case) -> None:
    """Independent columns: a record along one axis against one along another, two blocks."""
    adjacency = str(either(rng, *ADJACENCIES))
    low, bound = magnitude(rng, 1e-3, 1e3), magnitude(rng, 1e-3, 1e3)
    trim = (low, low * (1 + magnitude(rng, 1e-2, 1e2)))
    d = int(rng.integers(1, 3))
    model = gs.models.MultivariateNormalPrecision(dimension=d, bound=bound, trim=trim, structure="diagonal")
    rows, out, into = people(rng, adjacency)
    n = size(rng, 100) + rows
    plan = planned(rng, made, model, n, adjacency, rows)
    beta, square = plan.inverse_temperature, bound**2 / 2
    shapes = [1 + beta * (n - out + times) / 2 for times in (out, into)]
    along = bool(rng.random() < 0.5)
    pairs = []
    for axis in range(d):
        common = beta * (n - out) * square * float(rng.random()) / d
        mine = beta * out * square * (axis == 0 if along else axis == d - 1)
        theirs = beta * into * square * (axis == (d - 1) and (d > 1 or not along))
        pairs.append(gamma_pair((shapes[0], common + mine), (shapes[1], common + theirs), trim, panels=10))
    hold(rng, made, plan, *pairs)


# -- tables ---------------------------------------------------------------------------------------------------------------


def table_pair(
    concentration: float, smallest: float, first: tuple[float, float], second: tuple[float, float], panels: int = 24
) -> Pair:
    """A distribution over two states, each probability at least ``smallest``, with tempered counts of either data set."""
    ends = (logit(smallest), -logit(smallest))
    return beta_pair(concentration, concentration, first, second, ends, panels=panels)


@case("tables of two states", 1)
def tables(rng: Generator, made: Case) -> None:
    """Categorical records with two states, or a chain of one step."""
    adjacency = str(either(rng, *ADJACENCIES))
    smallest, concentration = magnitude(rng, 1e-12, 0.49), magnitude(rng)
    if rng.random() < 0.5:
        model: Any = gs.models.Categorical(states=2, smallest_probability=smallest, concentration=concentration)
    else:
        model = gs.models.MarkovChain(states=2, length=1, smallest_probability=smallest, concentration=concentration)
    rows, out, into = people(rng, adjacency)
    n = size(rng, 1e6) + rows
    plan = planned(rng, made, model, n, adjacency, rows)
    beta, share = plan.inverse_temperature, float(either(rng, 0.0, 1.0, 0.5))
    common = (beta * (n - out) * share, beta * (n - out) * (1 - share))
    first, second = (common[0] + beta * out, common[1]), (common[0], common[1] + beta * into)
    hold(rng, made, plan, table_pair(concentration, smallest, first, second))


@case("networks and chains", 0.6)
def networks(rng: Generator, made: Case) -> None:
    """A parent and its child, or a chain of two states: three independent blocks that one record touches together."""
    adjacency = str(either(rng, *ADJACENCIES))
    smallest, concentration = magnitude(rng, 1e-6, 0.49), magnitude(rng, 1e-2, 1e2)
    chain = bool(rng.random() < 0.5)
    rows, out, into = people(rng, adjacency)
    n, length = size(rng, 100) + rows, int(rng.integers(2, 6))
    if chain:
        model: Any = gs.models.MarkovChain(states=2, length=length, smallest_probability=smallest, concentration=concentration)
    else:
        model = gs.models.BayesianNetwork(
            states={"a": 2, "b": 2}, parents={"b": ["a"]}, smallest_probability=smallest, concentration=concentration
        )
    plan = planned(rng, made, model, n, adjacency, rows)
    beta = plan.inverse_temperature
    moves = length - 1 if chain else 1
    c = beta * (n - out) * float(either(rng, 0.0, 0.5))
    # the record stays in state 0, its replacement in state 1: start, what follows 0, what follows 1
    blocks = [
        ((c + beta * out, c), (c, c + beta * into)),
        ((c + beta * out * moves, c), (c, c)),
        ((c, c), (c, c + beta * into * moves)),
    ]
    grids = {3: 5, 2: 10}
    touched = [block for block in blocks if block[0] != block[1]]
    panels = grids.get(len(touched), 24)
    hold(rng, made, plan, *(table_pair(concentration, smallest, *block, panels=panels) for block in touched))


@case("finite families", 1.5)
def finite_families(rng: Generator, made: Case) -> None:
    """Random tables of likelihoods down to 1e-12, random priors and data: enumeration in 60 digits."""
    points, outcomes, adjacency = int(rng.integers(2, 6)), int(rng.integers(2, 5)), str(either(rng, *ADJACENCIES))
    close = magnitude(rng, 1e-12, 1.0) if rng.random() < 0.3 else None  # parameters that hardly differ
    raw = np.array([[magnitude(rng, 1e-12, 1.0) for _ in range(outcomes)] for _ in range(points)])
    if close is not None:
        raw = 1 + close * rng.random((points, outcomes))
    table = raw / raw.sum(axis=1, keepdims=True)
    prior = tuple(magnitude(rng, 1e-12, 1.0) for _ in range(points))
    likelihood = tuple(tuple(row) for row in table.tolist())
    model = gs.models.FiniteFamily(points=tuple(range(points)), likelihood=likelihood, outcomes=outcomes, prior=prior)
    rows, out, into = people(rng, adjacency)
    n = size(rng, 1e4) + rows
    plan = planned(rng, made, model, n, adjacency, rows)
    beta, budget = plan.inverse_temperature, plan.budget
    counts = rng.multinomial(n - out, rng.dirichlet(np.ones(outcomes) * 0.3))
    x, y = (
        rng.choice(outcomes, 2, replace=False)
        if rng.random() < 0.5
        else (int(table.max(axis=0).argmin()), int(table[0].argmax()))
    )
    with mp.workdps(60):
        logs = [[mp.log(mp.mpf(float(entry))) for entry in row] for row in table]
        laws = []
        for code, times in ((x, out), (y, into)):
            exponents = []
            for k in range(points):
                total = mp.fsum(int(c) * logs[k][j] for j, c in enumerate(counts)) + times * logs[k][code]
                exponents.append(mp.mpf(beta) * total)
            top = max(exponents)
            masses = [mp.mpf(w) * mp.exp(e - top) for w, e in zip(prior, exponents, strict=True)]
            laws.append([mass / mp.fsum(masses) for mass in masses])
        epsilons = [budget.epsilon, *epsilons_for(rng, budget.epsilon)]
        for epsilon in epsilons:
            value = max(exact.stick(list(zip(p, q, strict=True)), epsilon) for p, q in (laws, laws[::-1]))
            value *= 1 - mp.mpf(10) ** -30
            made.at_most(f"δ({epsilon!r})", value, plan.guarantee.delta(epsilon))
            if epsilon == budget.epsilon:
                made.at_most("the budget's δ", value, budget.delta)


@case("tables of counts", 0.5)
def counts(rng: Generator, made: Case) -> None:
    """Noisy counts of two cells that a person's rows leave and enter: enumeration of the log ratio's values in 60 digits."""
    adjacency = str(either(rng, *ADJACENCIES))
    rows, out, into = people(rng, adjacency)
    model = gs.models.ContingencyTable(categories={"a": int(rng.integers(2, 5)), "b": int(rng.integers(2, 4))})
    plan = planned(rng, made, model, size(rng, 1e4) + rows, adjacency, rows, draws=1, theorem="fixed-normaliser")
    with mp.workdps(60):
        q = mp.exp(-mp.mpf(plan.inverse_temperature))
        ratios = {0: mp.mpf(1)}  # P(Σ |e − s| − |e| = r) over the cells that change by s
        for shift in (out, into):
            law: dict[int, mp.mpf] = {}
            for place in range(shift + 1):  # 0: all e ≤ 0; shift: all e ≥ shift
                mass = q**place / (1 + q) * (1 if place in (0, shift) else 1 - q)
                law[shift - 2 * place] = law.get(shift - 2 * place, mp.mpf(0)) + (mp.mpf(1) if shift == 0 else mass)
            ratios = convolved(ratios, law)
        beta = mp.mpf(plan.inverse_temperature)
        made.at_most("log ratio", beta * max(ratios), plan.guarantee.epsilon(0.0))
        for epsilon in [plan.budget.epsilon, *epsilons_for(rng, plan.budget.epsilon)]:
            terms = [mass * (1 - mp.exp(mp.mpf(epsilon) - beta * r)) for r, mass in ratios.items() if beta * r > epsilon]
            made.at_most(f"δ({epsilon!r})", mp.fsum(terms), plan.guarantee.delta(epsilon))


def convolved(first: dict[int, Any], second: dict[int, Any]) -> dict[int, Any]:
    """Return the law of a sum of two independent whole numbers."""
    total: dict[int, Any] = {}
    for (a, p), (b, r) in itertools.product(first.items(), second.items()):
        total[a + b] = total.get(a + b, mp.mpf(0)) + p * r
    return total


@case("Welsch's location", 1)
def welsch(rng: Generator, made: Case) -> None:
    """Bounded losses of unbounded records: densities with several modes, on bounds up to 1e9 scales wide."""
    adjacency, scale = str(either(rng, *ADJACENCIES)), magnitude(rng)
    half = scale * magnitude(rng, 1e-3, 1e8)
    rows, out, into = people(rng, adjacency)
    n, d = size(rng, 1e4) + rows, int(either(rng, 1, 1, 1, 2))
    model = gs.models.WelschLocation(scale=scale, bounds=(-half, half), dimension=d)
    plan = planned(rng, made, model, n, adjacency, rows)
    beta = plan.inverse_temperature
    pairs = []
    for _ in range(d):
        common = [] if rng.random() < 0.5 else [(half * float(rng.uniform(-1, 1)), float(n - out))]
        x = half * float(either(rng, 0.0, 1.0, rng.uniform(-1, 1)))
        y = float(either(rng, -half, half + 60 * scale, half * rng.uniform(-1, 1), x + scale * rng.normal() * 3))
        first, second = [*common, (x, float(out))], [*common, (y, float(into))]
        spots = [at + step * scale for at, _ in (*first, *second) for step in (-9, -5, -3, -2, -1, -0.4, 0, 0.4, 1, 2, 3, 5, 9)]
        kinks = sorted({spot for spot in spots if -half < spot < half})
        largest = beta * sum(times for _, times in (*first, *second))

        def terms(t: np.ndarray, top: float = largest, positions: float = half / scale) -> np.ndarray:
            return np.full_like(t, top * (1 + positions))

        line = Line(-half, half, [at for at, _ in (*first, *second) if abs(at) <= half], scale, kinks, terms)
        log_p, log_q = (densities.welsch(data, beta, scale) for data in (first, second))
        pairs.append(normalised(log_p, log_q, line, panels=24 if d == 1 else 6))
    hold(rng, made, plan, *pairs)
