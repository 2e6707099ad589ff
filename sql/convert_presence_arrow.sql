-- Convert a list in Feather or ORC, or a Delta or Iceberg table, to Parquet as a stream.
COPY (
    SELECT {crawl} AS crawl, {element} AS element, nullif(trim({stratum}), '') AS stratum{lost}
    FROM raw
) TO $target (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false);
