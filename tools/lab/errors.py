"""The error of a failed experiment."""


class LabError(Exception):
    """A message for the user of the command: what, where, why."""
