-- Containment: for each pair of crawls i < j, the number of elements in both crawls (`intersection`), and this number
-- divided by the size of the earlier crawl (`containment`) and of the later crawl (`containment_reverse`).
--
-- Reads tables crawls and capture_history_counts. Table containment also has confidence intervals of the counting
-- error. Run it in the folder of a collection:
--   duckdb -readonly -f containment.sql observables.duckdb
WITH sizes AS (
    SELECT crawls.crawl, crawls.crawl_index, crawls.years, coalesce(sum(counts.elements), 0)::BIGINT AS size
    FROM crawls
    LEFT JOIN capture_history_counts AS counts ON get_bit(counts.history, crawls.crawl_index) = 1
    GROUP BY ALL
),
shared AS (
    SELECT i.crawl_index AS i, j.crawl_index AS j, sum(counts.elements)::BIGINT AS elements
    FROM crawls AS i
    JOIN crawls AS j ON i.crawl_index < j.crawl_index
    JOIN capture_history_counts AS counts
        ON get_bit(counts.history, i.crawl_index) = 1 AND get_bit(counts.history, j.crawl_index) = 1
    GROUP BY ALL
)
SELECT
    i.crawl AS crawl_i,
    j.crawl AS crawl_j,
    j.crawl_index - i.crawl_index AS lag_crawls,
    j.years - i.years AS lag_years,
    i.size AS size_i,
    j.size AS size_j,
    coalesce(shared.elements, 0) AS intersection,
    intersection / nullif(size_i, 0) AS containment,
    intersection / nullif(size_j, 0) AS containment_reverse
FROM sizes AS i
JOIN sizes AS j ON i.crawl_index < j.crawl_index
LEFT JOIN shared ON shared.i = i.crawl_index AND shared.j = j.crawl_index
ORDER BY i.crawl_index, j.crawl_index;
