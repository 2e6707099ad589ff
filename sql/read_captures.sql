-- Select the captures of the crawls in `labels`, with the number of the crawl.
SELECT labels.number, captures.element, captures.stratum,
    coalesce(lower({lost}) IN ('1', '1.0', 'true'), false) AS lost
FROM read_parquet($part) AS captures
JOIN labels USING (crawl);
