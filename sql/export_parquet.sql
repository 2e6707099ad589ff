-- A whole table; names come from the schema module only.
COPY (SELECT {columns} FROM {table}) TO $target (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false);
