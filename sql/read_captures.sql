-- Select the captures of the crawls in `labels`, with the number of the crawl.
SELECT labels.number, captures.element, captures.stratum
FROM read_parquet($part) AS captures
JOIN labels USING (crawl);
