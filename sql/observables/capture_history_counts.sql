-- Capture-history counts: the number of distinct elements with each capture history.
--
-- The history of an element has one bit per crawl, oldest crawl first; the bit is 1 if the crawl captured the element.
-- Every other observable follows from these counts. Table capture_history_counts also splits them by stratum.
--
-- Reads the presence files (one Parquet file per crawl, named after the crawl, one row per distinct element) and table
-- crawls, which gives the time order. Two variables are parameters: `presence`, the paths of the files, and `one_in`,
-- the inverse of the sampling fraction (1: not sampled). Run it in the folder of a collection:
--   duckdb -readonly -cmd "SET VARIABLE presence = 'presence/*.parquet'; SET VARIABLE one_in = 1" \
--     -f capture_history_counts.sql observables.duckdb
WITH crawl_bits AS (
    SELECT crawl, set_bit(repeat('0', count(*) OVER ()::INTEGER)::BIT, crawl_index, 1) AS crawl_bit
    FROM crawls
),
histories AS (
    SELECT bit_or(crawl_bit) AS history
    FROM read_parquet(getvariable('presence'), filename = true)
    JOIN crawl_bits ON crawl = parse_filename(filename, true)
    GROUP BY key
)
SELECT history, count(*) * getvariable('one_in')::BIGINT AS elements
FROM histories
GROUP BY history
ORDER BY history;
