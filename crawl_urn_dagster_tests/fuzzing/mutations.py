"""Mutate the seeds of a parser to nearly valid files.

Does not define seeds or parsers; see `archives` and `common_crawl`.
"""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

# All examples share the folder of a fixture.
fuzzed = settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


@st.composite
def mutated(draw, seeds, pieces):
    """Draw a seed with up to four pieces replaced by meaningful or arbitrary bytes."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 30)))
        data = data[:start] + draw(st.one_of(st.binary(max_size=8), st.sampled_from(pieces))) + data[end:]
    return data
