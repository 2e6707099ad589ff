SELECT history::VARCHAR AS history, stratum, elements FROM capture_history_counts;
