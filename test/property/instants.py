"""Instants as whole microseconds of the machine's clock, which the server and its clients share."""

import time
from datetime import datetime, timedelta, timezone

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def instant():
    """Now, in microseconds."""
    return time.time_ns() // 1000


def microseconds(moment):
    """A timestamp of the database as an instant."""
    return None if moment is None else (moment - EPOCH) // timedelta(microseconds=1)


def seconds(value):
    return timedelta(seconds=value)


def timestamp(moment):
    """An instant as the database takes it."""
    return None if moment is None else EPOCH + timedelta(microseconds=moment)
