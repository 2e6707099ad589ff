"""Read the data that Common Crawl publishes."""
