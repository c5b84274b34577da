"""Keeps memory equal to the sources: the ledger, the plan, the push and the pass around them."""
