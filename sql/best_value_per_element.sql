-- Select each element of the files once, with its highest value.
SELECT element, floor(max(value))::BIGINT::VARCHAR AS stratum
FROM read_parquet($parts)
GROUP BY element;
