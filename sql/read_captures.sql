-- Of some crawls; labels numbers them.
SELECT labels.number, captures.element, captures.stratum
FROM read_parquet($part) AS captures
JOIN labels USING (crawl);
