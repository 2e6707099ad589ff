-- One raw list to Parquet, streamed. Columns are named by position; every cell is text, nothing is guessed.
-- No temporary file of its own: the target is one, and is put in place when it is whole.
COPY (
    SELECT {crawl} AS crawl, {element} AS element, nullif(trim({stratum}), '') AS stratum
    FROM read_csv(
        $source, columns = $columns, compression = $compression, auto_detect = false, header = true,
        delim = ',', quote = '"', escape = '"', strict_mode = true, hive_partitioning = false
    )
) TO $target (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false);
