-- Convert one raw list to Parquet as a stream. DuckDB reads only these columns of the file.
-- DuckDB writes no temporary file, because the target is one and is moved into place once it is complete.
COPY (
    SELECT {crawl} AS crawl, {element} AS element, nullif(trim({stratum}), '') AS stratum{lost}
    FROM read_parquet($source, binary_as_string = true, hive_partitioning = false)
) TO $target (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false);
