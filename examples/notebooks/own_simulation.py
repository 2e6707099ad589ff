# %% [markdown]
# # Simulate your own crawler
#
# Is your crawl budget large enough for a fit to find the core? Simulate a collection of your size with a known truth,
# and fit it as if you did not know it.

# %%
import pandas as pd

import crawl_urn_dagster as cu
from crawl_urn_dagster.urn import simulate

truth = {"core": 600, "shell": 1_400, "alpha": 0.85, "coverage": 0.7}
histories = simulate(times=range(12), seed=7, **truth)
captures = pd.concat(
    pd.DataFrame({"crawl": f"2025-{month + 1:02}", "element": histories.captured(month).astype(str)})
    for month in range(12)
)
print(captures.groupby("crawl").size().describe()[["min", "mean", "max"]].round())

# %%
fit = cu.fit(captures, n_resamples=20)
for name, true in (("kappa", 600 / 2_000), ("alpha", 0.85), ("coverage", 0.7)):
    low, high = fit.intervals[name]
    print(f"{name}: true {true:.2f}, estimate {getattr(fit, name):.2f} (95 % CI {low:.2f} to {high:.2f})")

# %% [markdown]
# The profile shows why both observables are needed: the discovery curve alone allows many values of the core fraction.

# %%
fit.plot("identifiability", title="own simulation")
