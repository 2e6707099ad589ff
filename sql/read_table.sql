SELECT * FROM {table};
