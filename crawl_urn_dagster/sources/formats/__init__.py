"""Read file formats that any crawl operator may have."""
