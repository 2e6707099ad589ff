"""The data package is valid and describes every exported file."""

import hashlib
import json
import shutil

import frictionless

from crawl_urn_dagster.observables.schema import TABLES


def test_package_is_valid_and_describes_every_file(folder):
    report = frictionless.validate(str(folder / "datapackage.json"))
    assert report.valid, report.flatten(["name", "message"])
    package = json.loads((folder / "datapackage.json").read_text())
    described = {resource["path"]: resource for resource in package["resources"]}
    assert sorted([*described, "datapackage.json"]) == sorted(path.name for path in folder.iterdir())
    for path, resource in described.items():
        content = (folder / path).read_bytes()
        assert (resource["bytes"], resource["hash"]) == (len(content), f"sha256:{hashlib.sha256(content).hexdigest()}")
        if resource["format"] != "tex":
            table = TABLES[path.split(".")[0]]
            fields = resource["schema"]["fields"]
            assert [field["name"] for field in fields] == list(table.column_names)
            assert [field["unit"] for field in fields] == [column.unit for column in table.columns]


def test_changed_file_fails_validation(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    for name in ("crawls.csv", "crawls.parquet"):
        content = (folder / name).read_bytes()
        (tmp_path / "copy" / name).write_bytes(content.replace(b"label", b"lebal"))
        assert not frictionless.validate(str(tmp_path / "copy" / "datapackage.json")).valid
        (tmp_path / "copy" / name).write_bytes(content)
