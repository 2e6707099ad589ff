-- Name the columns of table $name of the current database, and their types, in order.
SELECT column_name, data_type
FROM duckdb_columns()
WHERE table_name = $name AND database_name = current_database()
ORDER BY column_index;
