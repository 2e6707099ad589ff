-- One raw list to Parquet, streamed; of a wide file only these columns are read.
-- No temporary file of its own: the target is one, and is put in place when it is whole.
COPY (
    SELECT {crawl}::VARCHAR AS crawl, {element}::VARCHAR AS element, nullif(trim({stratum}::VARCHAR), '') AS stratum
    FROM read_parquet($source, binary_as_string = true, hive_partitioning = false)
) TO $target (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false);
