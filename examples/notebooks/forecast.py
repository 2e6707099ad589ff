# %% [markdown]
# # Forecast the next crawls
#
# How large will the next crawl be, and how much of it will be new? The forecast needs at least eight crawls, and holds
# also if no urn fits.

# %%
import crawl_urn_dagster as cu
from crawl_urn_dagster.figures import draw
from crawl_urn_dagster.sources import SimulatedSource

crawls = cu.read_source(SimulatedSource(kappa=0.3, alpha=0.8, coverage=0.6, crawls=18, elements=1_500))
fit = cu.fit(crawls, n_resamples=20)
forecast = fit.forecast()
for quantity in ("crawl_size", "new_elements"):
    row = forecast[(forecast["quantity"] == quantity) & (forecast["crawls_ahead"] == 1)].iloc[0]
    print(f"{quantity}: {row['value']:.0f} (95 % PI {row['value_low']:.0f} to {row['value_high']:.0f})")

# %% [markdown]
# The figure also shows a forecast made before the last crawls, next to what came.

# %%
draw("forecast_fan", {**fit.tables, "forecast": fit.forecast(back_test=True)}, title="simulated list", clock="crawl")
