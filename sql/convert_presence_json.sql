-- Convert a list in JSON lines to Parquet as a stream. Values keep the text with which they are written.
COPY (
    SELECT {crawl} AS crawl, {element} AS element, nullif(trim({stratum}), '') AS stratum{lost}
    FROM read_ndjson($source, columns = $columns, compression = $compression, hive_partitioning = false)
) TO $target (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false);
