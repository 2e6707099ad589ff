-- Capture frequencies: the number of elements captured in exactly `captures` crawls.
--
-- Closed-population estimators such as Chao's use these counts (table comparators). Numbers of crawls that no
-- element has are left out.
--
-- Reads table capture_history_counts. Run it in the folder of a collection:
--   duckdb -readonly -f capture_frequencies.sql observables.duckdb
SELECT bit_count(history) AS captures, sum(elements)::BIGINT AS elements
FROM capture_history_counts
GROUP BY captures
ORDER BY captures;
