"""Search, guided by coverage, for bytes on which a parser is slow, uses too much memory, or raises an unexpected error.

Run ``python -m crawl_urn_dagster_tests.fuzzing TARGET CORPUS -runs=300000 -timeout=10 -rss_limit_mb=2048`` with the
extra ``fuzz``. TARGET is the name of a parser; its seeds are written to the folder CORPUS. The options are libFuzzer's.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["crawl_urn_dagster", "json", "surt"]):
    from crawl_urn_dagster_tests.fuzzing import archives, common_crawl

MODULES = (archives, common_crawl)


def main() -> None:
    """Run libFuzzer until its options end it."""
    target, corpus = sys.argv[1], Path(sys.argv[2])
    (module,) = (module for module in MODULES if target in module.SEEDS)
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(module.SEEDS[target]):
        (corpus / f"seed-{number}").write_bytes(seed)
    with tempfile.TemporaryDirectory() as folder:

        def test(data: bytes) -> None:
            module.parse(target, data, Path(folder))

        atheris.Setup([sys.argv[0], *sys.argv[2:]], test)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
