-- Select the elements of a crawl with their ranks; the rank is null if the web graph does not contain the element.
SELECT captures.element, ranks.{rank}::VARCHAR AS stratum
FROM read_parquet($captures) AS captures
LEFT JOIN read_parquet($ranks) AS ranks USING (element);
