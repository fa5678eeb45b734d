"""Why a set could not be had."""


class DataError(Exception):
    """A set could not be had; the message names it and says what to do."""


class DataUnavailable(DataError):
    """It is not here and could not be fetched. A run of all sets may leave it out and say so."""


class DataCorrupt(DataError):
    """What was found is not the expected data. Never to be passed over."""
