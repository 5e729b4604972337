"""Hashes of passwords: those made here, those of other comment servers, and what is none."""

from importlib.resources import files

import pytest

from footfall.accounts.rules import phpass
from footfall.accounts.rules.passwords import IS_COMMON, IS_MAIL, TOO_SHORT, Passwords, weakness
from footfall.limits.clients import BACKGROUND
from footfall.limits.pools import Pools

LONG = "päss" * 30


@pytest.fixture
def passwords() -> Passwords:
    return Passwords(Pools().passwords)


@pytest.mark.parametrize(
    ("password", "stored"),
    [
        # Of phpass's own test program, and of passlib's tests.
        ("test12345", "$P$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0"),
        ("", "$P$7JaFQsPzJSuenezefD/3jHgt5hVfNH0"),
        ("compL3X!", "$P$FiS0N5L672xzQx1rt1vgdJQRYKnQM9/"),
        ("táБℓə", "$P$7SMy8VxnfsIy2Sxm7fJxDSdil.h7TW."),
        ("test12345", "$H$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0"),
    ],
)
def test_phpass_knows_the_published_hashes(password: str, stored: str) -> None:
    assert phpass.verify(password.encode(), stored)
    assert not phpass.verify(password.encode() + b"x", stored)


@pytest.mark.parametrize(
    ("password", "stored", "is_renewed"),
    [
        (
            "mara's own",
            # With the parameters of these tests (conftest.py).
            "$argon2id$v=19$m=8,t=1,p=1$yrmXshYC4DxnLEVo7T2HsA"
            "$x4nOkryXlfapYCR0k1iyOTUUIXCWRTHQ5jESYdzqSY0",
            False,
        ),
        (
            "mara's own",
            "$argon2id$v=19$m=65536,t=3,p=4$FAIgJMS41xpjTMl5D0ForQ"
            "$QkZXPQcem0Mg+qNgT/DEACSXrX1WZBTx9ZcrCY19WUQ",
            True,
        ),
        ("mara's own", "$2a$04$larkopxSXPOh.24jgig2t.ubiIlRwU8Xv8Ty/8YcFI3Gz7Jyn5dqa", True),
        (LONG, "$2y$04$zfO/qPOsnVLX2IwIdOiCVOYwzyuIz820x5rlPB3O.N1pivo0MNJFC", True),
        (LONG, "$P$5gTNloJ5/AbIsKDPDJzTTXtwPOCvte1", True),
    ],
    ids=["argon2id", "another argon2id", "bcrypt", "longer than bcrypt reads", "phpass"],
)
async def test_hashes_of_earlier_versions_go_on_working(
    passwords: Passwords, password: str, stored: str, is_renewed: bool
) -> None:
    is_right, renewed = await passwords.verify(password, stored, BACKGROUND)
    assert (is_right, renewed.startswith("$argon2id$v=19$")) == (True, is_renewed)
    assert await passwords.verify("another one", stored, BACKGROUND) == (False, "")
    if renewed:
        assert await passwords.verify(password, renewed, BACKGROUND) == (True, "")


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "plain text",
        "é",
        "$argon2id$",
        "$argon2id$v=19$m=19456,t=2,p=1$é$é",
        "$argon2id$v=19$m=19456,t=2,p=1$aaaaaaaaaaa",
        "$argon2id$v=19$m=4294967295,t=2,p=1$aaaaaaaaaaaaaaaaaaaaaa$bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
        "$2a$04$short",
        # A salt that no bcrypt makes, and rounds for hours.
        "$2a$04$abcdefghijklmnopqrstuvCi15uRb1eH7NAlJ/TgeJertyknQpYn2",
        "$2a$31$abcdefghijklmnopqrstuuCi15uRb1eH7NAlJ/TgeJertyknQpYn2",
        "$P$B",
        "$P$zIQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0",
    ],
)
async def test_what_is_no_hash_is_nobodys(passwords: Passwords, stored: str) -> None:
    assert await passwords.verify("test12345", stored, BACKGROUND) == (False, "")


@pytest.mark.parametrize(
    ("password", "wrong"),
    [
        ("seven c", TOO_SHORT),
        ("mara.berg@example.com", IS_MAIL),
        ("  MARA.Berg@Example.com ", IS_MAIL),
        ("Mara.Berg", IS_MAIL),
        ("12345678", IS_COMMON),
        ("Password1", IS_COMMON),
        ("SUNSHINE1 ", IS_COMMON),
        ("an old garden gate", ""),
        ("mara.berg@example.org", ""),
        ("八个字符也够长了", ""),
    ],
)
def test_a_new_password_is_long_rare_and_not_the_mail(password: str, wrong: str) -> None:
    assert weakness(password, "Mara.Berg@example.com") == wrong


def test_the_admin_ui_knows_each_refused_password_by_its_sentence() -> None:
    script = files("footfall").joinpath("ui/admin/server.js").read_text()
    for sentence in (TOO_SHORT, IS_COMMON, IS_MAIL):
        assert f"'{sentence}': '" in script
