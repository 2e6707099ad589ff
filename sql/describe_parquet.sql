DESCRIBE SELECT * FROM read_parquet($source);
