-- The columns of the file itself, not of the folders it is in.
DESCRIBE SELECT * FROM read_parquet($source, hive_partitioning = false);
