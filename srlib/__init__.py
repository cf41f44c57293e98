"""Disclosure risk of synthetic data: the shared library behind four executable papers."""
