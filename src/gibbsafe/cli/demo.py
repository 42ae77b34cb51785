"""``gibbsafe demo``: the main job, from nothing."""

from __future__ import annotations

from gibbsafe.cli.app import Json, app, print_json


@app.command("demo")
def demo(as_json: Json = False) -> None:
    """Show what each theorem allows for a logistic regression with intercept at ε = 1, δ = 1e-6."""
    from gibbsafe.demo import theorem_comparison

    comparison, headline = theorem_comparison()
    if as_json:
        print_json(comparison.to_dict() | {"headline": headline})
    else:
        print(f"{comparison}\n\n{headline}")
