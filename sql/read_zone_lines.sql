-- Read the SOA and NS records of zone lines: the full name of their owner, in lower case and without the final dot (empty
-- without an origin), and the origin and owner that are valid after each line. A line without owner has the last one.
WITH parsed AS (
    SELECT
        line_number,
        nullif(lower(regexp_extract(line, '^\$ORIGIN\s+(\S+)', 1, 'i')), '') AS new_origin,
        nullif(lower(regexp_extract(line, '^([^\s;$()"]+)\s', 1)), '') AS new_owner,
        upper(regexp_extract(line, '^\S*\s+(?:(?:[0-9]+[smhdw]?|IN)\s+)*(NS|SOA)\s', 1, 'i')) AS kind
    FROM lines
),
carried AS (
    SELECT
        *,
        coalesce(last_value(new_origin IGNORE NULLS) OVER so_far, $origin) AS origin,
        coalesce(last_value(new_owner IGNORE NULLS) OVER so_far, $owner) AS owner
    FROM parsed
    WINDOW so_far AS (ORDER BY line_number ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
SELECT
    line_number,
    kind,
    rtrim(
        CASE
            WHEN owner LIKE '%.' THEN owner
            WHEN origin = '' THEN ''
            WHEN owner = '@' THEN origin
            ELSE owner || '.' || origin
        END,
        '.'
    ) AS name,
    origin,
    owner
FROM carried
ORDER BY line_number;
