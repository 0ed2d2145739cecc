"""What an experiment fails with."""


class LabError(Exception):
    """A message for who typed the command: what, where, why."""
