-- A whole table; names come from the schema module only.
COPY (SELECT {columns} FROM {table}) TO $target (FORMAT csv, HEADER true, NULLSTR '', USE_TMP_FILE false);
