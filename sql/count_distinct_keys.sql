-- Of presence partitions, independently of capture histories: for the check that nothing was lost.
SELECT count(DISTINCT key) AS distinct_keys FROM read_parquet($paths);
