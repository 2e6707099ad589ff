"""Column and table definitions of the schema, and the column groups that several tables share.

Does not define any table; see the other modules of this package.
"""

from __future__ import annotations

from dataclasses import dataclass

# Types whose unit is always the same; numeric columns state their unit.
_UNIT_OF_TYPE = {"VARCHAR": "text", "BOOLEAN": "true or false", "BIT": "bit per crawl", "TIMESTAMP": "time (UTC)"}


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name, type
        Column name and DuckDB type.
    description
        Meaning of the column.
    unit
        Unit of the values; None: implied by the type.
    nullable
        Whether a value may be NULL.

    Examples
    --------
    >>> Column("crawl", "VARCHAR", "label of the crawl").unit
    'text'
    """

    name: str
    type: str
    description: str
    unit: str | None = None
    nullable: bool = True

    def __post_init__(self) -> None:
        if self.unit is None:
            object.__setattr__(self, "unit", _UNIT_OF_TYPE[self.type])


@dataclass(frozen=True)
class Table:
    """A table of a collection's DuckDB file.

    Attributes
    ----------
    name, description
        Table name and contents.
    columns
        Columns in order.
    key
        Names of the columns that identify a row.
    """

    name: str
    description: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]

    @property
    def column_names(self) -> tuple[str, ...]:
        """Column names in the order of the table."""
        return tuple(column.name for column in self.columns)


def required(name: str, type_: str, description: str, unit: str | None = None) -> Column:
    """Define a column that is never NULL."""
    return Column(name, type_, description, unit, nullable=False)


def with_interval(name: str, description: str, unit: str) -> tuple[Column, ...]:
    """Define a numeric column and the columns of its 95 % confidence interval."""
    return (Column(name, "DOUBLE", description, unit), *interval(name, unit))


def interval(name: str, unit: str) -> tuple[Column, ...]:
    """Define columns `<name>_low` and `<name>_high`, the 95 % confidence interval of a column."""
    return (
        Column(
            f"{name}_low", "DOUBLE", f"lower end of the 95 % confidence interval of {name}; null: not computed", unit
        ),
        Column(
            f"{name}_high", "DOUBLE", f"upper end of the 95 % confidence interval of {name}; null: not computed", unit
        ),
    )


def estimate(unit: str) -> tuple[Column, ...]:
    """Define the columns of an estimate, its standard error and its 95 % confidence interval."""
    return (
        Column("estimate", "DOUBLE", "null: unknown, see reason", unit),
        Column("se", "DOUBLE", "standard error; null: unknown or at a bound, see reason", unit),
        *interval("estimate", unit),
    )


#: Columns that identify one component of one fit.
FIT_KEY = (
    required(
        "projection",
        "VARCHAR",
        "observable that was fitted: joint, containment, discovery_curve, discovery_tail, …, histories, or curves "
        "(both curves)",
    ),
    required("model", "VARCHAR", "homogeneous, core_shell, core_two_shells, beta_shell or revisit_delay"),
    required("form", "VARCHAR", "exact, or paper (the containment form as printed, whose kappa is the core share)"),
    required("clock", "VARCHAR", "crawl: survival is per crawl; year: survival is per year"),
    Column("stratum", "VARCHAR", "stratum of the elements; null: all elements"),
    required("component", "VARCHAR", "urn (one class), core, shell, shell_1 or shell_2 (shell_1 lives longer)"),
    required("first_crawl", "VARCHAR", "first crawl of the fitted window"),
    required("last_crawl", "VARCHAR", "last crawl of the fitted window"),
)
