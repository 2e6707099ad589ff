ATTACH {path} AS held (READ_ONLY);
