-- Split CDX lines into fields. Their positions are constants of the statement, because DuckDB 1.5 is three times slower
-- with parameters. Surplus delimiters belong to the one field that may contain them.
SELECT
    line_number,
    line,
    line = $legend AS is_comment,
    len(fields) - {fields} AS extra,
    extra >= 0 AND (extra = 0 OR ({wide} IS NOT NULL AND ({mime} IS NULL OR fields[{mime}] LIKE '%/%'))) AS is_whole,
    fields[{key} + if({key} > {wide}, extra, 0)] AS key,
    fields[{stamp} + if({stamp} > {wide}, extra, 0)] AS stamp,
    if(
        {url} = {wide} AND extra > 0,
        array_to_string(fields[{url} : {url} + extra], $delimiter),
        fields[{url} + if({url} > {wide}, extra, 0)]
    ) AS url,
    fields[{mime} + if({mime} > {wide}, extra, 0)] AS mime,
    fields[{status} + if({status} > {wide}, extra, 0)] AS status,
    fields[{warc} + if({warc} > {wide}, extra, 0)] AS warc
FROM (SELECT *, string_split(line, $delimiter) AS fields FROM lines)
