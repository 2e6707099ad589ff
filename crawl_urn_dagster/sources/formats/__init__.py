"""Read file formats that any crawl operator may publish."""
