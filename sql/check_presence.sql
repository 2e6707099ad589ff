-- The crawls of a converted list, each with its first row and its first row without an element (from 1).
SELECT
    crawl,
    min(file_row_number) + 1 AS first_row,
    min(file_row_number) FILTER (element IS NULL OR trim(element) = '') + 1 AS row_without_element
FROM read_parquet($presence, file_row_number = true)
GROUP BY crawl
ORDER BY first_row
LIMIT $limit;
