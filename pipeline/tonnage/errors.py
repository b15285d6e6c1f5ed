"""The two ways a command may fail, each one sentence that names what was found, where, and the mend.

Rendering and exit codes are the command line's; this module only tells the two kinds apart.
"""

from __future__ import annotations


class TonnageError(Exception):
    """A failure with a message meant for the user as it stands."""

    exit_code = 1


class WorkFailed(TonnageError):
    """The work itself failed: damaged input beyond the limit, an imbalance, a dead worker, a full disk."""

    exit_code = 1


class UsageError(TonnageError):
    """The recipe or the command line asks for something that cannot be; found before any work starts."""

    exit_code = 2
