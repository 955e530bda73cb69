"""The strategies that come with toolexec: one room per way to run a call.

Importing this package loads none of them; they are found by name through the entry-point group
``toolexec.strategies``.
"""
