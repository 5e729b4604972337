"""QR codes."""


def qr_code(address: str) -> str:
    """The address as a picture: a data: address of an SVG."""
    # Loaded by the first setup of two-factor authentication.
    import segno

    picture: str = segno.make(address, error="m").svg_data_uri(scale=4, border=2)
    return picture
