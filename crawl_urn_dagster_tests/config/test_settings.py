"""Settings of automation: their documentation, and cron schedules."""

import re
from pathlib import Path

import pytest
import yaml

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.config.settings import AutomationSettings


def test_production_page_documents_all_defaults():
    text = (Path(__file__).resolve().parents[2] / "docs" / "production.md").read_text()
    (documented,) = re.findall(r"```yaml\n( +automation:.*?)```", text, flags=re.DOTALL)
    settings = yaml.safe_load(documented)
    assert settings["containment_drop"] == Collection.model_fields["containment_drop"].default
    automation = {**settings["automation"], "expect_every_days": None}
    assert AutomationSettings.model_validate(automation) == AutomationSettings()
    assert set(automation) == set(AutomationSettings.model_fields)


@pytest.mark.parametrize(
    "cron",
    ["0 6 2 * *", "*/5 * * * *", "0 0 29 feb *", "0 0 31 11-2 *", "0 0 30-31 4 *", "0 0 L 2 *", "0 0 * * mon"],
)
def test_schedule_that_fires_is_accepted(cron):
    assert AutomationSettings(refresh_cron=cron).refresh_cron == cron
