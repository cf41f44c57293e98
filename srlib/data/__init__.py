"""What comes in: schemas, codes, files of microdata, the survey."""
