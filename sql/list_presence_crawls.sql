SELECT crawl, filename, count(*) AS captures
FROM read_parquet($parts, filename = true)
GROUP BY ALL
ORDER BY crawl;
