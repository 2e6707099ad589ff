-- Count expected and lost elements by group, of the elements that a crawl captured last.
SELECT
    $by AS group_by,
    $crawl AS crawl,
    label::VARCHAR AS "group",
    count(*) AS expected,
    count(*) FILTER (absent_crawls > 0) AS lost
FROM expected
JOIN grouped USING (key)
WHERE last_crawl = $crawl
GROUP BY ALL;
