-- Convert one raw list to Parquet as a stream. Columns are named by position and every cell is text.
-- DuckDB writes no temporary file, because the target is one and is moved into place once it is complete.
COPY (
    SELECT {crawl} AS crawl, {element} AS element, nullif(trim({stratum}), '') AS stratum{lost}
    FROM read_csv(
        $source, columns = $columns, compression = $compression, auto_detect = false, header = $header,
        delim = $delimiter, quote = $quote, escape = $quote, strict_mode = true, hive_partitioning = false
    )
) TO $target (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false);
