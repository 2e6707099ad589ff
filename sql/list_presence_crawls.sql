SELECT crawl, filename, captures, content
FROM read_parquet($summaries, filename = true)
ORDER BY crawl;
