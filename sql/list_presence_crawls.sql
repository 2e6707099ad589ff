-- List the crawls of converted files, with the captures in each file.
SELECT crawl, filename, captures, content
FROM read_parquet($summaries, filename = true)
ORDER BY crawl;
