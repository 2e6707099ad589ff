-- First returns: the share of a crawl's elements whose next capture is exactly `lag_crawls` crawls later, averaged over
-- the start crawls that have a crawl at this lag.
--
-- The standard error is from blocks of at least 4 start crawls in time order. The variance of a block's mean is half
-- the mean squared difference between neighbouring blocks (von Neumann). With a single block it is NULL.
--
-- Reads tables crawls and capture_history_counts. Run it in the folder of a collection:
--   duckdb -readonly -f first_returns.sql observables.duckdb
WITH next_captures AS (
    SELECT
        crawls.crawl_index AS start_index,
        position('1' IN substring(counts.history::VARCHAR, crawls.crawl_index + 2)) AS lag_crawls,
        sum(counts.elements) AS elements
    FROM crawls
    JOIN capture_history_counts AS counts ON get_bit(counts.history, crawls.crawl_index) = 1
    GROUP BY ALL
),
sizes AS (
    SELECT start_index, sum(elements) AS size FROM next_captures GROUP BY start_index
),
shares AS (
    SELECT
        sizes.start_index,
        later.crawl_index - sizes.start_index AS lag_crawls,
        coalesce(next_captures.elements, 0) / sizes.size AS share,
        count(*) OVER (PARTITION BY later.crawl_index - sizes.start_index) AS n_starts
    FROM sizes
    JOIN crawls AS later ON later.crawl_index > sizes.start_index
    LEFT JOIN next_captures
        ON next_captures.start_index = sizes.start_index
        AND next_captures.lag_crawls = later.crawl_index - sizes.start_index
),
blocks AS (
    SELECT lag_crawls, block, avg(share) AS share
    FROM (
        SELECT
            *, ntile(greatest(n_starts // 4, 1)) OVER (PARTITION BY lag_crawls ORDER BY start_index) AS block
        FROM shares
    )
    GROUP BY lag_crawls, block
),
steps AS (
    SELECT lag_crawls, share - lag(share) OVER (PARTITION BY lag_crawls ORDER BY block) AS step FROM blocks
),
errors AS (
    SELECT lag_crawls, sqrt(avg(step ** 2) / 2 / count(*)) AS fraction_se FROM steps GROUP BY lag_crawls
)
SELECT lag_crawls, avg(share) AS fraction, any_value(fraction_se) AS fraction_se, count(*) AS n_starts
FROM shares
JOIN errors USING (lag_crawls)
GROUP BY lag_crawls
ORDER BY lag_crawls;
