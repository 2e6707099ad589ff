-- Names and types come from the schema module only, never from data.
CREATE OR REPLACE TABLE {table} ({columns});
