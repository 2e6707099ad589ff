-- The captures of the selected crawls, from the converted lists.
COPY (
    SELECT crawl, element FROM read_parquet($parts) WHERE crawl = ANY($crawls)
) TO $target (FORMAT parquet, COMPRESSION zstd);
