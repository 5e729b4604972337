"""Email addresses: which are one, and in which form they are compared."""


def is_mail(text: str) -> bool:
    """By RFC 5321 and 5322; no server is queried."""
    return _normalized(text) is not None


def canonical(text: str) -> str:
    """The form in which emails are compared: without case, in NFC, the domain as IDNA reads it.

    A text that is not an email is compared as it is written, without case.
    """
    return (_normalized(text) or text.strip()).casefold()


def is_canonically(text: str, mail: str) -> bool:
    """Is this that email, which is in its canonical form? Few texts are looked at closely."""
    text = text.strip()
    if text.isascii() and "xn--" not in text.lower():
        return text.casefold() == mail
    return canonical(text) == mail


def _normalized(text: str) -> str | None:
    # Loaded by the first email: its expressions take 20 ms, and a process that only counts has
    # none.
    from email_validator import EmailNotValidError, validate_email

    try:
        return validate_email(
            text.strip(), check_deliverability=False, globally_deliverable=False
        ).normalized
    except EmailNotValidError:
        return None
