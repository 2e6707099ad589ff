-- Count the elements of several lists by the lists that hold them, and by stratum.
--
-- Reads table `lists`: one row per list and element, with the element's key, the bit of the list (1, 2, 4, ...) and the
-- stratum of the element in this list, null if the list has no strata. An element has the stratum of the first list that
-- gives one. The pattern of an element is the sum of the bits of its lists.
WITH elements AS (
    SELECT sum(bit) AS pattern, arg_min(stratum, bit) FILTER (stratum IS NOT NULL) AS stratum
    FROM lists
    GROUP BY key
)
SELECT stratum, pattern::INTEGER AS pattern, count(*) AS elements
FROM elements
GROUP BY ALL
ORDER BY ALL;
