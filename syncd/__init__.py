"""syncd keeps an agent's memory equal to a person's folders and repositories."""

__version__ = "0.1.0"
