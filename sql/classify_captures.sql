-- Classify captures: the reason for which a line does not count (`outcome`; null: it counts as present), and its texts.
-- The casts give a type to columns that are null in every row.
WITH split AS (
    {split}
),
dated AS (
    SELECT
        * REPLACE (nullif(nullif(url, ''), '-') AS url),
        if(
            regexp_full_match(stamp, '[0-9]{{4,17}}'),
            try_strptime(
                left(stamp, least(length(stamp) // 2 * 2, 14))
                || substr('00000101000000', least(length(stamp) // 2 * 2, 14) + 1),
                '%Y%m%d%H%M%S'
            ),
            NULL
        ) AS captured_at,
        regexp_matches(key, '^[^()/?#:@\s]+(:[0-9]+)?\)') AS has_surt_key,
        coalesce(url, if(has_surt_key, NULL, key)) AS web_address
    FROM split
    WHERE line <> ''
),
classified AS (
    SELECT
        *,
        CASE
            WHEN is_comment THEN 'header'
            WHEN NOT is_whole THEN 'fields'
            WHEN captured_at IS NULL OR year(captured_at) NOT BETWEEN 1990 AND 2099 THEN 'time'
            WHEN length(coalesce(web_address, key)) NOT BETWEEN 2 AND $longest THEN 'url'
        END AS problem,
        CASE
            WHEN mime = 'warc/revisit' THEN 'revisit'
            WHEN status IS NULL OR status IN ('', '-') THEN 'unknown'
            ELSE status
        END AS kind,
        web_address IS NULL OR regexp_matches(
            web_address, '^(?i:https?)://[^/?#]|^[^:/?#@\[\s]+\.[^:/?#@\[\s]+(:[0-9]+)?([/?#]|$)'
        ) AS is_web
    FROM dated
)
SELECT
    line_number,
    CASE
        WHEN problem IS NOT NULL THEN problem
        WHEN NOT is_web THEN 'not_web'
        WHEN NOT (
            list_contains($present, 'any')
            OR list_contains($present, kind)
            OR list_contains($present, left(kind, 1) || 'xx')
        ) THEN 'status'
    END AS outcome,
    if(problem IN ('fields', 'time', 'url'), left(line, 200), NULL) AS line,
    if($element = 'url' AND has_surt_key, key, NULL)::VARCHAR AS surt_key,
    CASE
        WHEN $element = 'url' THEN if(has_surt_key, NULL, web_address)
        WHEN $element = 'url_as_written' THEN web_address
        WHEN has_surt_key THEN left(key, strpos(key, ')'))
        ELSE regexp_extract(web_address, '^((?i:https?)://)?[^/?#]+')
    END::VARCHAR AS address,
    captured_at,
    CASE
        WHEN $by_warc THEN warc
        WHEN $bin IS NOT NULL THEN date_trunc($bin, captured_at)::VARCHAR
    END::VARCHAR AS crawl_text
FROM classified;
