"""The numbers that the papers print, the ledger, and what only one paper needs."""
