-- The elements of some files, each with its best value.
SELECT element, floor(max(value))::BIGINT::VARCHAR AS stratum
FROM read_parquet($parts)
GROUP BY element;
