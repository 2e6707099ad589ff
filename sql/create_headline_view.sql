CREATE OR REPLACE VIEW headline AS SELECT * FROM parameters WHERE headline AND stratum IS NULL;
