"""The families of components in JavaScript, for the calculator page."""

from __future__ import annotations

from ..errors import SettingError
from ..primitives import LogLocationScale, Primitive
from ..primitives.cure import Never
from ..primitives.mixture import Mixed

__all__ = ["family_javascript"]

# Survival and density as functions of z, for families of a standardised log time.
_STANDARD = {
    "weibull": (
        "(z) => Math.exp(-Math.exp(Math.min(z, LOG_LIMIT)))",
        "(z) => { z = Math.min(z, LOG_LIMIT); return Math.exp(z - Math.exp(z)); }",
    ),
    "lognormal": ("normalSurvival", "(z) => Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI)"),
    "loglogistic": (
        "(z) => 1 / (1 + Math.exp(z))",
        "(z) => { const e = Math.exp(-Math.abs(z)); return e / ((1 + e) * (1 + e)); }",
    ),
}

# Functions of the parameters and the log of the unit of time, which return two functions of log time x: survival, and
# density (of log time).
_FAMILIES = {
    "exponential": """([logScale], logUnit) => {
      const hazard = (x) => Math.exp(Math.min(x - logUnit - logScale, LOG_LIMIT));
      return { survival: (x) => Math.exp(-hazard(x)), density: (x) => hazard(x) * Math.exp(-hazard(x)) };
    }""",
    "gompertz": """([logRate, aging], logUnit) => {
      const rate = Math.exp(logRate);
      const grown = (y) => (Math.abs(y) < 1e-8 ? 1 + y / 2 : Math.expm1(y) / y);
      const survival = (x) => { const t = Math.exp(x - logUnit); return Math.exp(-rate * t * grown(aging * t)); };
      const density = (x) => {
        const t = Math.exp(x - logUnit), hazard = Math.min(rate * t * grown(aging * t), 1e30);
        return Math.exp(logRate + x - logUnit + aging * t - hazard);
      };
      return { survival, density };
    }""",
    "burr": """([logShape, logScale, logTail], logUnit) => {
      const shape = Math.exp(Math.min(logShape, LOG_LIMIT)), tail = Math.exp(logTail);
      const z = (x) => shape * (x - logUnit - logScale) - logTail;
      const survival = (x) => Math.exp(-tail * softplus(z(x)));
      return { survival, density: (x) => shape * tail / (1 + Math.exp(-z(x))) * survival(x) };
    }""",
    "powergeneralisedweibull": """([logShape, logScale, logPower], logUnit) => {
      const shape = Math.exp(Math.min(logShape, LOG_LIMIT)), power = Math.exp(logPower);
      const z = (x) => shape * (x - logUnit - logScale);
      const growth = (x) => Math.min(power * softplus(z(x)), LOG_LIMIT);
      const survival = (x) => Math.exp(-Math.expm1(growth(x)));
      return {
        survival,
        density: (x) => shape * power / (1 + Math.exp(-z(x))) * Math.exp(growth(x) - Math.expm1(growth(x))),
      };
    }""",
    "spline": """([level, ...rest], logUnit) => {
      const n = rest.length / 2, slopes = rest.slice(0, n).map((l) => Math.exp(Math.min(l, LOG_LIMIT)));
      const knots = rest.slice(n).map((knot) => knot + logUnit);
      const through = (x, j) => Math.min(Math.max((x - knots[j]) / (knots[j + 1] - knots[j]), 0), 1);
      const risen = (x) => {
        let sum = slopes[0] * Math.min(x - knots[0], 0) + slopes[n - 1] * Math.max(x - knots[n - 1], 0);
        for (let j = 0; j + 1 < n; j++) {
          const u = through(x, j);
          sum += (knots[j + 1] - knots[j]) * (slopes[j] * (u - u * u / 2) + slopes[j + 1] * u * u / 2);
        }
        return sum;
      };
      const start = level - risen(knots[(n - 1) / 2]);
      const hazard = (x) => Math.exp(Math.min(start + risen(x), LOG_LIMIT));
      const slope = (x) => {
        let sum = slopes[0];
        for (let j = 0; j + 1 < n; j++) sum += (slopes[j + 1] - slopes[j]) * through(x, j);
        return sum;
      };
      const survival = (x) => Math.exp(-hazard(x));
      return { survival, density: (x) => slope(x) * hazard(x) * survival(x) };
    }""",
}


def family_javascript(family: type[Primitive]) -> str:
    """Return the source of a function of parameters and log unit of time, which returns survival and density."""
    if issubclass(family, Mixed):
        return _mixed(family)
    if family is Never:
        return "() => ({ survival: () => 1, density: () => 0 })"
    is_built_in = family.__module__.startswith("lifemix.")
    if is_built_in and issubclass(family, LogLocationScale) and family.name in _STANDARD:
        return _log_location_scale(family)
    if is_built_in and family.name in _FAMILIES:
        return _FAMILIES[family.name]
    raise SettingError(
        f"a calculator runs in the browser, which cannot compute the primitive {family.name!r}. Fit a model with one "
        f"of {sorted([*_STANDARD, *_FAMILIES])}."
    )


def _log_location_scale(family: type[LogLocationScale]) -> str:
    survival, density = _STANDARD[family.name]
    location = family.location_index()
    assert location is not None
    sign = "" if family.precision_sign > 0 else "-"
    return f"""(parameters, logUnit) => {{
      const survival = {survival}, density = {density};
      const location = parameters[{location}] + logUnit;
      const precision = Math.exp(Math.min({sign}parameters[{1 - location}], LOG_LIMIT));
      return {{
        survival: (x) => survival(precision * (x - location)),
        density: (x) => precision * density(precision * (x - location)),
      }};
    }}"""


def _mixed(mixed: type[Mixed]) -> str:
    """Return the function of components whose family is one of their parameters."""
    families = ",\n".join(
        f"(p, logUnit) => ({family_javascript(family)})"
        f"({mixed.parameter_index(family)}.map((i) => p[i]), logUnit)"
        for family in mixed.families
    )
    kind = len(mixed.parameter_names())
    return f"""(parameters, logUnit) => {{
      const families = [{families}];
      return families[parameters[{kind}]](parameters, logUnit);
    }}"""
