import multiprocessing

import pytest

from crawl_urn_dagster.atomic import exclusive, replacing, replacing_folder, scratch_folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_takes_its_place_when_it_is_whole(tmp_path):
    target = tmp_path / "new" / "page.md"
    with replacing(target) as temporary:
        temporary.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    assert names(target.parent) == ["page.md"]


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
    assert names(tmp_path) == ["page.md"]


def test_others_may_read_the_file(tmp_path):
    with replacing(tmp_path / "page.md") as temporary:
        temporary.write_text("for all")
    assert (tmp_path / "page.md").stat().st_mode & 0o777 == 0o644


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path):
    with replacing(tmp_path / "page.md") as temporary:
        temporary.write_text("whole")
        # The same names, as of a process that ends here.
        (tmp_path / f"{temporary.name[:-8]}x.partial").write_text("half")
    with scratch_folder(tmp_path) as scratch:
        left = tmp_path / f"{scratch.name[:-8]}x.partial"
        left.mkdir()
        (left / "0").write_text("half")
    (tmp_path / "own.partial").write_text("a name that is no partial file's")
    (tmp_path / ".hidden").write_text("")
    assert len(names(tmp_path)) == 5
    with exclusive(tmp_path):
        assert names(tmp_path) == [".hidden", ".lock", "own.partial", "page.md"]


def test_a_scratch_folder_is_gone_at_the_end_whatever_happens(tmp_path):
    def fail_half_way():
        with scratch_folder(tmp_path) as scratch:
            (scratch / "spool").write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert names(tmp_path) == []


def _append_alone(folder, name):
    with exclusive(folder):
        log = folder / "log"
        for _ in range(200):
            log.write_text(log.read_text() + f"{name}\n")


def test_writers_wait_for_each_other(tmp_path):
    folder = tmp_path / "new"
    with exclusive(folder):
        (folder / "log").write_text("")
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_append_alone, args=(folder, name)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    lines = (folder / "log").read_text().split()
    assert [lines[:200], lines[200:]] in ([["a"] * 200, ["b"] * 200], [["b"] * 200, ["a"] * 200])


def test_a_folder_takes_its_place_as_a_whole_and_a_failure_leaves_the_earlier_one(tmp_path):
    target = tmp_path / "export"
    for name in ("first", "second"):
        with replacing_folder(target) as new:
            (new / name).touch()
            assert not (target / name).exists()
        assert names(target) == [name]

    def fail_half_way():
        with replacing_folder(target) as new:
            (new / "third").touch()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert names(target) == ["second"]
    assert names(tmp_path / ".export") == [".lock"]
