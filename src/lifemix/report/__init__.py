"""Pages for people: reports, and calculators that run in the browser."""

__all__: list[str] = []
