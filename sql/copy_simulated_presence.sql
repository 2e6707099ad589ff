-- Captures by number as text; labels holds the selected crawls only.
-- No temporary file of its own: the target is one, and is put in place when it is whole.
COPY (
    SELECT
        labels.crawl,
        'https://site-' || (captures.element % 1000) || '.example/page-' || captures.element AS element
    FROM captures
    JOIN labels USING (crawl_index)
) TO $target (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false);
