"""Pages for people: reports, and calculators that run in the browser."""
