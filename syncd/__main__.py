"""`python -m syncd` is the command `syncd`."""

from syncd.cli import main

main()
