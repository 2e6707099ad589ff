-- Elements of a crawl, each with its rank in the web graph where it is in it.
SELECT captures.element, ranks.{rank}::VARCHAR AS stratum
FROM read_parquet($captures) AS captures
LEFT JOIN read_parquet($ranks) AS ranks USING (element);
