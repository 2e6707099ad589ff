import pytest

from crawl_urn_dagster.atomic import replacing


def test_a_file_takes_its_place_when_it_is_whole(tmp_path):
    target = tmp_path / "new" / "page.md"
    with replacing(target) as temporary:
        temporary.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    assert [path.name for path in target.parent.iterdir()] == ["page.md"]


def test_a_failure_leaves_the_earlier_file_and_nothing_else(tmp_path):
    target = tmp_path / "page.md"
    target.write_text("earlier")

    def fail_half_way():
        with replacing(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert target.read_text() == "earlier"
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


def test_others_may_read_the_file(tmp_path):
    with replacing(tmp_path / "page.md") as temporary:
        temporary.write_text("for all")
    assert (tmp_path / "page.md").stat().st_mode & 0o777 == 0o644
