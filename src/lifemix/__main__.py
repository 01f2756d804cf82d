"""``python -m lifemix``: the command line."""

from .cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
