-- Discovery curve: for each window of consecutive crawls, the number of distinct elements captured at least once
-- (`distinct_elements`), and this number divided by the size of the first crawl of the window (`ratio`).
--
-- An element counts if its first capture at or after the start of the window is inside the window.
--
-- Reads tables crawls and capture_history_counts. Table discovery_curve also has confidence intervals of the counting
-- error. Run it in the folder of a collection:
--   duckdb -readonly -f discovery_curve.sql observables.duckdb
WITH histories AS (
    SELECT history::VARCHAR AS history, elements FROM capture_history_counts
),
first_captures AS (
    SELECT
        crawls.crawl_index AS start_index,
        nullif(position('1' IN substring(histories.history, crawls.crawl_index + 1)), 0) AS position_in_window,
        sum(histories.elements) AS elements
    FROM crawls
    CROSS JOIN histories
    GROUP BY ALL
),
windows AS (
    SELECT
        s.crawl_index AS start_index,
        e.crawl_index AS end_index,
        s.crawl AS start_crawl,
        e.crawl AS end_crawl,
        e.crawl_index - s.crawl_index + 1 AS window_crawls,
        e.years - s.years AS elapsed_years,
        coalesce(sum(first_captures.elements), 0)::BIGINT AS distinct_elements
    FROM crawls AS s
    JOIN crawls AS e ON s.crawl_index <= e.crawl_index
    LEFT JOIN first_captures
        ON first_captures.start_index = s.crawl_index
        AND first_captures.position_in_window <= e.crawl_index - s.crawl_index + 1
    GROUP BY ALL
),
with_start_size AS (
    SELECT *, first_value(distinct_elements) OVER (PARTITION BY start_index ORDER BY end_index) AS start_size
    FROM windows
)
SELECT
    start_crawl,
    end_crawl,
    window_crawls,
    elapsed_years,
    distinct_elements,
    distinct_elements / nullif(start_size, 0) AS ratio
FROM with_start_size
ORDER BY start_index, end_index;
