# %% [markdown]
# # Compare two archives
#
# Two archives crawl the same web with different budgets. Each is fitted alone; their overlap then shows what one holds
# and the other lacks.

# %%
import numpy as np
import pandas as pd

import crawl_urn_dagster as cu

rng = np.random.default_rng(3)
N_CRAWLS, ELEMENTS = 12, 1_500
eligible = [np.arange(ELEMENTS)]
for _ in range(1, N_CRAWLS):
    survives = rng.random(ELEMENTS) < 0.9
    newest = eligible[-1].max() + 1
    eligible.append(np.where(survives, eligible[-1], newest + np.arange(ELEMENTS)))


def crawled(coverage):
    """Return the list of an archive that captures a share of the same eligible elements."""
    return pd.concat(
        pd.DataFrame({"crawl": f"2025-{month + 1:02}", "element": now[rng.random(ELEMENTS) < coverage].astype(str)})
        for month, now in enumerate(eligible)
    )


lists = {"large": crawled(0.8), "small": crawled(0.4)}
fits = {name: cu.fit(captures, n_resamples=20) for name, captures in lists.items()}
for name, fit in fits.items():
    print(f"{name}: crawl completeness {fit.completeness:.2f}, survival per crawl {fit.survival:.2f}")

# %% [markdown]
# Survival belongs to the web, so both archives find about the same value, here 0.9. Completeness belongs to the
# operator. It is the share of the *known* eligible elements, those that a crawl of the archive has captured at least
# once, so it is above the share of everything: 0.8 and 0.4 here.
#
# One archive as a sample of the other gives the share of everything without a model of time: the large archive holds
# the same share of what the small one holds.

# %%
last = {name: set(captures.loc[captures["crawl"] == "2025-12", "element"]) for name, captures in lists.items()}
both = len(last["large"] & last["small"])
print(f"large holds {both / len(last['small']):.2f} of small; small holds {both / len(last['large']):.2f} of large")
print(f"together they hold {len(last['large'] | last['small'])} of {ELEMENTS} eligible elements")

# %%
fits["small"].plot("fates_of_an_element", title="small archive")

# %% [markdown]
# This holds if the archives crawl independently. The key `cross_archive` of a collection gives bounds without that
# assumption.
