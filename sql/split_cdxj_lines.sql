-- Split CDXJ lines into key, time and the JSON fields, under the names that archives use.
SELECT
    line_number,
    line,
    starts_with(line, '!') AS is_comment,
    json_text IS NOT NULL AS is_whole,
    key,
    stamp,
    found[1] AS url,
    coalesce(found[2], found[3]) AS mime,
    coalesce(found[4], found[5]) AS status,
    found[6] AS warc
FROM (
    SELECT
        *,
        if(json_valid(rest) AND starts_with(ltrim(rest), '{{'), rest, NULL) AS json_text,
        json_extract_string(
            json_text, ['$.url', '$.mime', '$.mime_type', '$.status', '$.status_code', '$.filename']
        ) AS found
    FROM (
        SELECT
            line_number,
            line,
            split_part(line, ' ', 1) AS key,
            split_part(line, ' ', 2) AS stamp,
            substr(line, length(key) + length(stamp) + 3) AS rest
        FROM lines
    )
)
