-- List the crawls of a converted list with the number of their first row, of their first row without an element (empty,
-- or one of the texts that programs write for a missing value) and of their first row with an invalid stratum, counted
-- from 1, and of their first row with an invalid mark of a loss. If strata are ranks, a stratum must be a whole number of at least 1; otherwise it must be a short text of
-- harmless characters.
WITH checked AS (
    SELECT
        *,
        element IS NULL OR lower(trim(element)) IN ('', 'nan', 'null', '<na>', '\N', '\n') AS is_missing,
        CASE
            WHEN stratum IS NULL THEN false
            WHEN NOT $ranks THEN
                -- A bounded count of Unicode classes in the pattern would take a tenth of a second to compile, for every file.
                NOT (length(stratum) <= 64 AND regexp_full_match(stratum, '[\pL\pN][\pL\pM\pN ._:+/-]*'))
            ELSE coalesce(NOT (rank >= 1 AND rank = floor(rank) AND rank < 1e15), true)
        END AS is_wrong,
        lower({lost}) NOT IN ('0', '1', '0.0', '1.0', 'false', 'true') AS is_wrong_loss
    FROM (
        SELECT *, try_cast(stratum AS DOUBLE) AS rank
        FROM read_parquet($presence, file_row_number = true)
    )
)
SELECT
    crawl,
    min(file_row_number) + 1 AS first_row,
    min(file_row_number) FILTER (is_missing) + 1 AS row_without_element,
    arg_min(trim(coalesce(element, '')), file_row_number) FILTER (is_missing) AS missing_element,
    min(file_row_number) FILTER (is_wrong) + 1 AS row_of_wrong_stratum,
    arg_min(stratum, file_row_number) FILTER (is_wrong) AS wrong_stratum,
    min(file_row_number) FILTER (is_wrong_loss) + 1 AS row_of_wrong_loss,
    arg_min({lost}, file_row_number) FILTER (is_wrong_loss) AS wrong_loss
FROM checked
GROUP BY crawl
ORDER BY first_row
LIMIT $limit;
