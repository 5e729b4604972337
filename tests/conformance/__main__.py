"""The replay as a command, against any server: python -m tests.conformance --target URL."""

import argparse
import contextlib
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from .recording import Scenario, scenarios
from .replay import BY_RULE, DIFFERENT, EQUAL, NEEDS_EMPTY, Outcome, Replay, Server
from .rules import RULES

VERDICTS = (EQUAL, BY_RULE, DIFFERENT, NEEDS_EMPTY)
# The settings that need no server of their own: the recording's common ones, with no limit.
PLAIN: tuple[Mapping[str, str], ...] = ({}, {"IPQPS": ""})


def arguments(scenarios: Iterable[Scenario]) -> argparse.ArgumentParser:
    names = {
        scenario.name: " ".join(f"{n}={v!r}" for n, v in scenario.settings.items())
        for scenario in scenarios
    }
    listed = "\n".join(f"  {name:16} {settings or 'IPQPS=0'}" for name, settings in names.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance",
        description="Ask a server everything that was recorded, and compare its answers by the "
        "rules. Without --target, a server is started here, one a scenario.",
        epilog="THE TARGET'S STORE MUST BE EMPTY, and what is written stays in it: never name a "
        "site in use.\nThe target must run with a scenario's settings, below, and IPQPS=0 unless "
        "they say\notherwise. By default all scenarios without settings are asked. Only the first "
        "finds the\nstore empty: what later ones would be told of the whole site is left out, so "
        f"for all of\nit ask one scenario at a time.\n\nscenarios and their settings:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--target", metavar="URL", help="a running server with an empty store")
    parser.add_argument(
        "--scenario", action="append", choices=names, metavar="NAME", help="only this; repeatable"
    )
    return parser


def main() -> int:
    known = scenarios()
    asked = arguments(known.values()).parse_args()
    if asked.target:
        names = asked.scenario or [n for n, each in known.items() if each.settings in PLAIN]
        found = _against(asked.target, [known[name] for name in names])
    else:
        found = _here([known[name] for name in asked.scenario or known])
    outcomes = list(found)
    _report(outcomes)
    return any(outcome.verdict == DIFFERENT for outcome in outcomes)


def _here(chosen: list[Scenario]) -> Iterator[Outcome]:
    # Another server can be asked with nothing of this one installed.
    from .served import open_runner

    with open_runner() as runner:
        for scenario in chosen:
            yield from runner.replay(scenario)


def _against(url: str, chosen: list[Scenario]) -> Iterator[Outcome]:
    wrote = False
    for scenario in chosen:
        with contextlib.closing(Server(url)) as server:
            yield from Replay(scenario, server, is_empty=not wrote).run()
        wrote = wrote or bool(scenario.posted)


def _report(outcomes: list[Outcome]) -> None:
    verdicts = Counter(outcome.verdict for outcome in outcomes)
    rules = Counter(rule for outcome in outcomes for rule in outcome.rules)
    for outcome in outcomes:
        if outcome.verdict == NEEDS_EMPTY:
            print(f"{outcome.verdict}: {outcome.row.id}")
    for outcome in outcomes:
        if outcome.verdict == DIFFERENT:
            applied = ", ".join(sorted(outcome.rules)) or "none"
            print(f"\ndifferent: {outcome.row.id}\n{outcome.diff}\nrules applied: {applied}")
    print()
    for verdict in VERDICTS:
        print(f"{verdicts[verdict]:5} {verdict}")
    print("\nrows a rule was needed for:")
    for name in RULES:
        print(f"{rules[name]:5} {name}")


if __name__ == "__main__":
    sys.exit(main())
