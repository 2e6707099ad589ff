-- One bit per crawl, oldest first; the presence list is read once, and repeated rows change nothing.
INSERT INTO capture_history_counts BY NAME
WITH captured AS (
    SELECT presence.element, bitstring_agg(crawls.crawl_index, 0, $last_index) AS history
    FROM read_parquet($presence) AS presence
    JOIN crawls USING (crawl)
    GROUP BY presence.element
)
SELECT history, count(*) AS elements
FROM captured
GROUP BY history
ORDER BY history;
