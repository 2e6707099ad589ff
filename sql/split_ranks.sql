-- Select the domains of a web graph with their ranks and reverse their names. An invalid rank is null.
SELECT
    *,
    harmonicc_pos IS NOT NULL AND pr_pos IS NOT NULL AND coalesce(element, '') <> '' AS is_whole
FROM (
    SELECT
        line_number,
        array_to_string(list_reverse(string_split(fields[$host_rev], '.')), '.') AS element,
        try_cast(fields[$harmonicc_pos] AS UBIGINT) AS harmonicc_pos,
        try_cast(fields[$pr_pos] AS UBIGINT) AS pr_pos
    FROM (SELECT line_number, string_split(line, chr(9)) AS fields FROM lines WHERE line <> '' AND line_number > 1)
);
