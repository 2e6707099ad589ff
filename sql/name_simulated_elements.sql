SELECT 'https://site-' || (number % 1000) || '.example/page-' || number AS element FROM numbers;
