"""What is nearly right: seeds of a parser with some pieces of them replaced.

Here: the strategy. Not here: seeds and parsers (`archives`, `common_crawl`).
"""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

# A fixture's folder is used again for every example.
fuzzed = settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def nearly_right(draw, seeds, pieces):
    """One of the seeds, with up to four of its pieces replaced by bytes that mean something, or by any."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 30)))
        data = data[:start] + draw(st.one_of(st.binary(max_size=8), st.sampled_from(pieces))) + data[end:]
    return data
