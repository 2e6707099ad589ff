SELECT crawl, count(DISTINCT element) AS elements FROM read_parquet($presence) GROUP BY crawl;
