SELECT DISTINCT crawl FROM read_parquet($parts);
