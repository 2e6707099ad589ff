-- Of the presence list, independently of capture histories: for the check that nothing was lost.
SELECT count(DISTINCT element) AS distinct_elements FROM read_parquet($presence);
