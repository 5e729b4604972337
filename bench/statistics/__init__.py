"""What statistics cost: what a request costs more, and what Redis keeps."""
