-- The captures of the selected crawls, from the converted lists.
-- No temporary file of its own: the target is one, and is put in place when it is whole.
COPY (
    SELECT crawl, element FROM read_parquet($parts) WHERE crawl = ANY($crawls)
) TO $target (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false);
