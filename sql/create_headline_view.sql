CREATE OR REPLACE VIEW headline AS SELECT * FROM parameters WHERE headline;
