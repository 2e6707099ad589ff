-- Summarise the crawls of a converted list. The content does not depend on the order of the rows, and without losses
-- not on whether the list has a column for them.
COPY (
    SELECT crawl, count(*) AS captures, (
        sum(hash(element, stratum))
        + coalesce(sum(hash('lost', element)) FILTER (lower({lost}) IN ('1', '1.0', 'true')), 0)
    )::VARCHAR AS content
    FROM read_parquet($part)
    GROUP BY crawl
) TO $target (FORMAT parquet, USE_TMP_FILE false);
