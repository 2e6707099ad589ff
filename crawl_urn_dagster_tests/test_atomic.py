"""Atomic files and folders, and locks."""

import multiprocessing

import pytest

from crawl_urn_dagster.atomic import exclusive, replacing, replacing_folder, scratch_folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_complete_file_replaces_its_target(tmp_path):
    target = tmp_path / "new" / "page.md"
    with replacing(target) as temporary:
        temporary.write_text("complete")
        assert not target.exists()
    assert target.read_text() == "complete"
    assert names(target.parent) == ["page.md"]


def test_failure_keeps_the_earlier_file(tmp_path):
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


def test_replaced_file_is_readable_by_others(tmp_path):
    with replacing(tmp_path / "page.md") as temporary:
        temporary.write_text("for all")
    assert (tmp_path / "page.md").stat().st_mode & 0o777 == 0o644


def test_only_leftovers_of_killed_processes_are_removed(tmp_path):
    with replacing(tmp_path / "page.md") as temporary:
        temporary.write_text("complete")
        # Files with the names that a process killed here would leave.
        (tmp_path / f"{temporary.name[:-8]}x.partial").write_text("half")
    with scratch_folder(tmp_path) as scratch:
        left = tmp_path / f"{scratch.name[:-8]}x.partial"
        left.mkdir()
        (left / "0").write_text("half")
    (tmp_path / "own.partial").write_text("not named like a partial file")
    (tmp_path / ".hidden").write_text("")
    assert len(names(tmp_path)) == 5
    with exclusive(tmp_path):
        assert names(tmp_path) == [".hidden", ".lock", "own.partial", "page.md"]


def test_scratch_folder_is_removed_after_a_failure(tmp_path):
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


def test_folder_is_replaced_completely_or_not_at_all(tmp_path):
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
