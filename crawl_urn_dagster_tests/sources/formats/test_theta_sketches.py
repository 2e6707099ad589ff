"""Test the source of theta sketches against sets, and the intervals of their containments by simulation."""

import base64

import numpy as np
import pytest

from crawl_urn_dagster.observables.keys import first_key
from crawl_urn_dagster.sources import Sample, SourceError, ThetaSketchesSource
from crawl_urn_dagster.sources.formats.theta_sketches import ThetaWriter, file_name, parse_sketch
from crawl_urn_dagster.urn.data.counting_error import CountingError
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS

datasketches = pytest.importorskip("datasketches")
SETS = {"2024-01": range(3000), "2024-02": range(1000, 9000), "2024-03": range(10)}


def sketch_of(numbers, *, lg_k=10, seed=9001):
    sketch = datasketches.update_theta_sketch(lg_k=lg_k, seed=seed)
    for number in numbers:
        sketch.update(f"e{number}")
    return sketch.compact().serialize()


@pytest.fixture
def source(write, tmp_path):
    """Return a function that writes sketches by name, and returns their source."""

    def source(sketches):
        for name, data in sketches.items():
            write(f"sketches/{name}", data)
        return ThetaSketchesSource(path=str(tmp_path / "sketches"))

    return source


def keys_of(source, files, one_in):
    crawls = [crawl.crawl for crawl in source.list_crawls(files, ALL_CRAWLS).crawls]
    sampled = source.with_sample(Sample(one_in, lambda elements: np.ones(len(elements), bool)))
    return {one.crawl: one.elements for one in sampled.captures(files, crawls)}


def test_sample_of_sketches_has_the_same_elements_of_every_crawl(source, files):
    found = source({f"{crawl}.theta": sketch_of(numbers) for crawl, numbers in SETS.items()})
    listing = found.list_crawls(files, ALL_CRAWLS)
    one_in = listing.findings["sketches_least_sample_one_in"]
    assert 5 <= one_in <= 8
    keys = {crawl: set(k[k < first_key(1, one_in)].tolist()) for crawl, k in keys_of(found, files, one_in).items()}
    exact = {
        crawl: set(parse_sketch(sketch_of(numbers, lg_k=20), "x").keys.tolist()) for crawl, numbers in SETS.items()
    }
    assert [len(exact[crawl]) for crawl in SETS] == [len(numbers) for numbers in SETS.values()]
    for crawl in SETS:
        assert keys[crawl] == {key for key in exact[crawl] if key < first_key(1, one_in)}
    assert keys["2024-01"] & keys["2024-02"]


def test_too_large_a_sample_is_refused_with_the_smallest_setting(source, files):
    found = source({f"{crawl}.theta": sketch_of(numbers) for crawl, numbers in SETS.items()})
    needed = found.list_crawls(files, ALL_CRAWLS).findings["sketches_least_sample_one_in"]
    with pytest.raises(SourceError, match=rf"2024-02.theta: has θ = .* set sample_one_in: {needed}"):
        keys_of(found, files, needed - 1)


def test_containment_intervals_have_their_coverage():
    """As with `sample_one_in` at the same fraction: 400 pairs of 2,000 elements, standard error .011."""
    inside, shared, size = 0, 1300, 2000
    for seed in range(400):
        sketches = [parse_sketch(sketch_of(range(a, a + size), lg_k=7, seed=seed), "x") for a in (0, size - shared)]
        one_in = max(sketch.one_in for sketch in sketches)
        first, second = (sketch.keys[sketch.keys < first_key(1, one_in)] for sketch in sketches)
        both = len(np.intersect1d(first, second))
        low, high = CountingError(one_in=one_in).containment_interval(
            *(np.array([one_in * count], dtype=float) for count in (both, len(first), len(second)))
        )
        inside += bool(low[0] <= shared / size <= high[0])
    assert 0.93 <= inside / 400 <= 0.97


def test_base64_is_read(source, files):
    binary = sketch_of(range(5000))
    found = source({"2024-01.txt": base64.b64encode(binary) + b"\n", "2024-02.txt": binary})
    keys = keys_of(found, files, 100)
    assert np.array_equal(keys["2024-01"], keys["2024-02"])


def test_one_foreign_seed_is_read_and_two_are_refused(source, files):
    found = source({f"{crawl}.theta": sketch_of(numbers, seed=7) for crawl, numbers in SETS.items()})
    assert len(found.list_crawls(files, ALL_CRAWLS).crawls) == 3
    mixed = source({"2024-02.theta": sketch_of(range(9))})
    with pytest.raises(SourceError, match=r"seed hashes 0x[0-9a-f]{4} \(2024-01\) and 0x[0-9a-f]{4} \(2024-02\)"):
        mixed.list_crawls(files, ALL_CRAWLS)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not a sketch"),
        (b"crawl,element\n2024-01,a\n", "is not a sketch"),
        (sketch_of(range(5000))[:-9], "is a damaged theta sketch"),
        (datasketches.hll_sketch(10).serialize_compact(), "is a sketch of the kind HyperLogLog"),
        (datasketches.cpc_sketch(10).serialize(), "is a sketch of the kind CPC"),
    ],
)
def test_another_file_is_rejected(data, message):
    with pytest.raises(SourceError, match=rf"x.bin: {message}"):
        parse_sketch(data, "x.bin")


@pytest.mark.parametrize("numbers", [[], [1], range(20)])
def test_small_sketches_have_every_element(numbers):
    sketch = parse_sketch(sketch_of(numbers), "x")
    assert len(sketch.keys) == len(numbers)
    assert sketch.one_in == 1


def test_two_sketches_of_one_crawl_are_refused(source, files):
    found = source({"2024-01/a.theta": sketch_of([1]), "2024-01/b.theta": sketch_of([2])})
    with pytest.raises(SourceError, match="are both sketches of crawl 2024-01"):
        found.list_crawls(files, ALL_CRAWLS)


def test_writer_keeps_at_most_the_chosen_number():
    writer = ThetaWriter(6)
    writer.add(np.array([f"e{number}" for number in range(1000)], dtype=object))
    sketch = parse_sketch(writer.compact(), "x")
    assert len(sketch.keys) == 64
    assert sketch.one_in == writer.one_in
    assert file_name("2024-01-01T00:00:00") == "2024-01-01T00%3A00%3A00.theta"
