"""Define the settings of drift tests and of automation, and validate schedules.

Does not define the collection that they belong to; see `config.collection`.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema


def _iso_date(value: object) -> object:
    """Turn the date that YAML made of an unquoted 2013-12-01 back into text."""
    return value.isoformat() if type(value) is date else value


CrawlLabel = Annotated[str, BeforeValidator(_iso_date)]


class DriftSettings(BaseModel):
    """Set the reference period of the drift tests and the rolling windows of the parameter history.

    Parameters
    ----------
    window_crawls
        Number of crawls in the reference period and in each rolling window; at least 5.
    step_crawls
        Number of crawls from the start of one rolling window to the start of the next.
    reference_from
        Label of the first crawl of the reference period. None: the first crawl of the collection. The reference period
        is fixed; after a permanent change, name a later crawl.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    window_crawls: int = Field(default=24, ge=5)
    step_crawls: int = Field(default=1, ge=1)
    reference_from: CrawlLabel | None = None


class ElementSettings(BaseModel):
    """Set which crawl the table of elements describes, and the lists of elements to act on.

    Parameters
    ----------
    as_of
        Label of the last crawl that is used. None: the last crawl of the collection.
    missed_crawls
        Fewest last crawls that missed an element of list ``reseed``, at least 1.
    list_rows
        Largest number of rows of each list, at least 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    as_of: CrawlLabel | None = None
    missed_crawls: int = Field(default=1, ge=1)
    list_rows: int = Field(default=1000, ge=1)


def _validate_time_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError("is not a time zone; expected a name such as UTC or Europe/Paris") from None
    return name


# Minutes, hours, days of the month, months and days of the week.
_CRON_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_MONTH_NAMES = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTHS = {name: str(number) for number, name in enumerate(_MONTH_NAMES, start=1)}
_CRON_PART = r"(\*|[0-9A-Za-z]+(-[0-9A-Za-z]+)?)(/[1-9][0-9]*)?"
_CRON_FIELD = rf"{_CRON_PART}(,{_CRON_PART})*"


def _validate_cron(schedule: str) -> str:
    """Test that a cron schedule has five fields in range and a day on which it fires; Dagster checks the remainder."""
    if not re.fullmatch(rf"{_CRON_FIELD}( {_CRON_FIELD}){{4}}", schedule):
        raise ValueError("is not a cron schedule; expected five fields, such as '0 6 2 * *'")
    fields = schedule.split()
    for field, (low, high) in zip(fields, _CRON_RANGES, strict=True):
        if any(not low <= int(number) <= high for number in re.findall(r"(?<!/)\b\d+", field)):
            raise ValueError(f"is not a cron schedule; {field} should be from {low} to {high}")
    days, months = fields[2], re.sub("[A-Za-z]{3}", lambda name: _MONTHS.get(name[0].lower(), name[0]), fields[3])
    if not re.search("[A-Za-z]", days + months):
        first = min(_cron_numbers(days, 1, 31))
        longest = max(monthrange(2024, month)[1] for month in _cron_numbers(months, 1, 12))
        if first > longest:
            raise ValueError(f"never fires; expected a day of the month from 1 to {longest}")
    return schedule


def _cron_numbers(field: str, low: int, high: int) -> set[int]:
    """Return the numbers that a cron field matches; a range whose end is before its start wraps around."""
    numbers: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        start = low if first == "*" else int(first)
        end = int(last) if last else high if first == "*" or step else start
        span_numbers = [*range(start, end + 1)] or [*range(start, high + 1), *range(low, end + 1)]
        numbers.update(span_numbers[:: int(step or 1)])
    return numbers


_WAIT_FACTOR = 4


class AutomationSettings(BaseModel):
    """Set when sensors and schedules poll the source, and how they retry.

    Parameters
    ----------
    mode
        ``sensor``: a sensor requests jobs. ``declarative``: a sensor reports what the source has, and automation
        conditions of the assets request what depends on it.
    look_every_seconds
        Seconds between two polls of the source, at least 1.
    attempts
        Largest number of attempts at failed work, 1 to 20.
    first_wait_seconds
        Seconds between the first failure and the next attempt, at least 0; each further wait is four times as long.
    max_runtime_seconds
        Seconds after which Dagster's run monitoring stops a run of the collection's jobs, at least 60.
    silent_after_seconds
        Seconds without a log entry after which an unfinished run causes an alert, at least 60.
    refresh_cron, time_zone
        When the schedules poll, if they are turned on in place of the sensor: five cron fields, and an IANA time zone.
        None: there are no schedules.
    expect_every_days
        Days from the start of one crawl to the start of the next. None: no crawl is expected.
    grace_days
        Days by which a crawl, including its publication, may be late before the source counts as stale.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    mode: Literal["sensor", "declarative"] = "sensor"
    look_every_seconds: int = Field(default=900, ge=1)
    attempts: int = Field(default=4, ge=1, le=20)
    first_wait_seconds: float = Field(default=900, ge=0)
    max_runtime_seconds: int = Field(default=86_400, ge=60)
    silent_after_seconds: int = Field(default=10_800, ge=60)
    # The schema without null: a wrong value then gives the error of a string.
    refresh_cron: Annotated[
        Annotated[str, AfterValidator(_validate_cron)] | None, WithJsonSchema({"type": "string"})
    ] = None
    time_zone: Annotated[str, AfterValidator(_validate_time_zone)] = "UTC"
    expect_every_days: float | None = Field(default=None, gt=0, le=36_525)
    grace_days: float = Field(default=30, ge=0, le=36_525)

    def seconds_to_wait(self, failures: int) -> float:
        """Return the seconds from the last of some failures, at least 1, to the next attempt."""
        return self.first_wait_seconds * float(_WAIT_FACTOR ** (failures - 1))

    @property
    def stale_after_days(self) -> float | None:
        """Days after the start of the latest crawl from which the source is stale; None: never."""
        return None if self.expect_every_days is None else self.expect_every_days + self.grace_days
