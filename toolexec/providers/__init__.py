"""Providers' formats, one module each; found by name through the entry-point group ``toolexec.providers``."""
