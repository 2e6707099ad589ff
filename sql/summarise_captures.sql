-- Summarise the crawls of a converted list. The content does not depend on the order of the rows.
COPY (
    SELECT crawl, count(*) AS captures, sum(hash(element, stratum))::VARCHAR AS content
    FROM read_parquet($part)
    GROUP BY crawl
) TO $target (FORMAT parquet, USE_TMP_FILE false);
