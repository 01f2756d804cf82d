"""Self-contained HTML pages: reports, and the doctor before and after a fit."""
