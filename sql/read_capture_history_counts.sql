SELECT history::VARCHAR AS history, elements FROM capture_history_counts;
