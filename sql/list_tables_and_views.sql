-- Name the tables and views of the current database.
SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()
UNION
SELECT view_name FROM duckdb_views() WHERE database_name = current_database() AND NOT internal;
