"""Who is refused, counted in bounded memory."""

from dataclasses import fields

from footfall.errors import ServiceError
from footfall.limits.pools import Pools
from footfall.limits.refusals import MOST_CLIENTS, Refusals
from footfall.telemetry.metrics import LIMITS, Metrics


def test_refusals_are_counted_by_client_and_limit_until_they_are_taken() -> None:
    refusals = Refusals(Metrics().limits)
    for address in ("192.0.2.1", "192.0.2.1", "2001:db8:1:2::3", "2001:db8:1:4::5", ""):
        refusals.note(address, "IPQPS")
    refusals.note("192.0.2.1", "pages")
    assert refusals.take() == {
        ("192.0.2.1", "IPQPS"): 2,
        ("192.0.2.1", "pages"): 1,
        ("2001:db8:1::/48", "IPQPS"): 2,
        ("", "IPQPS"): 1,
    }
    assert not refusals.take()


def test_ten_thousand_strangers_do_not_hide_who_is_refused_most() -> None:
    refusals = Refusals(Metrics().limits)
    for n in range(10_000):
        refusals.note(f"10.0.{n // 256}.{n % 256}", "pages")
        refusals.note("192.0.2.1", "pages")
    ((worst, number),) = (taken := refusals.take()).most_common(1)
    assert worst == ("192.0.2.1", "pages")
    assert 9_900 < number <= 10_000
    assert len(taken) <= MOST_CLIENTS


def test_every_limit_has_a_metric() -> None:
    pools = Pools()
    named = {getattr(pools, each.name).name for each in fields(pools)}
    named |= {error.limit for error in ServiceError.below()} - {""}
    assert named | {"MAX_CONNECTIONS", "NEW_COUNTER_RATE"} == {*LIMITS}
