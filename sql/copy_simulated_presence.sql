-- Captures by number as text; labels holds the selected crawls only.
COPY (
    SELECT
        labels.crawl,
        'https://site-' || (captures.element % 1000) || '.example/page-' || captures.element AS element
    FROM captures
    JOIN labels USING (crawl_index)
) TO $target (FORMAT parquet, COMPRESSION zstd);
