# %% [markdown]
# # Find a change of the crawler
#
# The crawler loses a quarter of its budget at the 15th of 20 crawls. The first twelve crawls are the reference period.

# %%
import numpy as np
import pandas as pd

import crawl_urn_dagster as cu
from crawl_urn_dagster.urn import simulate

coverage = np.where(np.arange(20) < 14, 0.6, 0.45)
histories = simulate(times=range(20), core=600, shell=900, alpha=0.8, coverage=coverage, seed=5)
starts = pd.date_range("2023-01-01", periods=20, freq="MS").strftime("%Y-%m")
captures = pd.concat(
    pd.DataFrame({"crawl": start, "element": histories.captured(crawl).astype(str)})
    for crawl, start in enumerate(starts)
)
fit = cu.fit(captures, n_resamples=20)
drift = fit.drift(window_crawls=12)
print(drift[["parameter", "drifted", "attributed", "since_crawl"]].to_string(index=False))

# %% [markdown]
# `drifted` is an alarm of the control charts, `attributed` says which parameter changed, and `since_crawl` since when.
# The change was made at crawl 2024-03.

# %%
fit.plot("survival_and_coverage_by_crawl", title="budget cut")
