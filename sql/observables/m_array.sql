-- M-array (Cormack, Jolly and Seber): for each crawl, the number of its elements whose next capture is in each later
-- crawl, and the number that no later crawl captures (`recaptured_crawl` is NULL).
--
-- Reads tables crawls and capture_history_counts. Run it in the folder of a collection:
--   duckdb -readonly -f m_array.sql observables.duckdb
WITH next_captures AS (
    SELECT
        crawls.crawl_index AS released_index,
        nullif(position('1' IN substring(counts.history::VARCHAR, crawls.crawl_index + 2)), 0) AS lag_crawls,
        sum(counts.elements) AS elements
    FROM crawls
    JOIN capture_history_counts AS counts ON get_bit(counts.history, crawls.crawl_index) = 1
    GROUP BY ALL
),
cells AS (
    SELECT i.crawl_index AS released_index, j.crawl_index AS recaptured_index
    FROM crawls AS i
    JOIN crawls AS j ON i.crawl_index < j.crawl_index
    UNION ALL
    SELECT crawl_index, NULL FROM crawls
)
SELECT
    released.crawl AS released_crawl,
    recaptured.crawl AS recaptured_crawl,
    coalesce(next_captures.elements, 0)::BIGINT AS elements
FROM cells
JOIN crawls AS released ON released.crawl_index = cells.released_index
LEFT JOIN crawls AS recaptured ON recaptured.crawl_index = cells.recaptured_index
LEFT JOIN next_captures
    ON next_captures.released_index = cells.released_index
    AND next_captures.lag_crawls IS NOT DISTINCT FROM cells.recaptured_index - cells.released_index
ORDER BY recaptured_index IS NULL, cells.released_index, recaptured_index;
